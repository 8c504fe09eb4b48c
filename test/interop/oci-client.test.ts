import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { computeDigest, EMPTY_CONFIG, MEDIA_TYPES } from '@krmhub/oci';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentBlocks } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, type Finished, fixtures, krmhub, root, temporaryFolder } from '../running.js';
import { type DockerRegistry, hasDockerRegistry, startDockerRegistry } from './docker-registry.js';

/**
 * `krmhub push`, `pull` and `copy` against another project's registry, checked with other projects'
 * clients.
 */

const { folder, remove } = temporaryFolder();
const catalog = path.join(fixtures, 'catalogs/example-co.yaml');
const definition = path.join(fixtures, 'functions/set-labels/2.0.0.yaml');
const hasCrane = spawnSync('crane', ['version']).status === 0;
const hasSkopeo = spawnSync('skopeo', ['--version']).status === 0;

let open: DockerRegistry;
let closed: DockerRegistry;

beforeAll(async () => {
  if (!hasDockerRegistry) return;
  open = await startDockerRegistry(path.join(folder, 'open'));
  closed = await startDockerRegistry(path.join(folder, 'closed'), { login: true });
});
afterAll(async () => {
  await open?.stop();
  await closed?.stop();
  remove();
});

/** A folder whose docker configuration is this one. */
function home(configuration: object = {}): { cwd: string; env: { DOCKER_CONFIG: string } } {
  const cwd = mkdtempSync(path.join(folder, 'home-'));
  mkdirSync(path.join(cwd, '.docker'));
  writeFileSync(path.join(cwd, '.docker/config.json'), JSON.stringify(configuration));
  return { cwd, env: { DOCKER_CONFIG: path.join(cwd, '.docker') } };
}

const done = (finished: Finished) => {
  expect(finished, finished.stderr).toMatchObject({ code: 0 });
  return finished;
};

async function pushed(
  args: readonly string[],
  options = home(),
): Promise<{ digest: string; outcome: string }> {
  return JSON.parse(done(await krmhub(['push', ...args, '-o', 'json'], options)).stdout);
}

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return stdout;
}

describe.skipIf(!hasDockerRegistry)(
  `artifacts in another registry${hasDockerRegistry ? '' : ' (skipped: docker-registry is not installed)'}`,
  () => {
    it.each([
      ['catalog', catalog],
      ['definition', definition],
    ])(
      'a %s comes back with the same bytes, and has the same digest when it is pushed again',
      async (type, file) => {
        const reference = `${open.host}/team/${type}:v1`;
        const first = await pushed([file, reference]);
        expect(first).toMatchObject({ type, outcome: 'pushed' });
        expect(await pushed([file, reference])).toMatchObject({ outcome: 'unchanged', digest: first.digest });
        const other = await pushed([file, `${open.host}/team/${type}:v2`]);
        expect(other.digest).toBe(first.digest);
        const { cwd, env } = home();
        done(await krmhub(['pull', reference, '--out', 'pulled'], { cwd, env }));
        expect(readFileSync(path.join(cwd, 'pulled', path.basename(file)))).toEqual(readFileSync(file));
        const byDigest = `${open.host}/team/${type}@${first.digest}`;
        expect((await krmhub(['pull', byDigest, '--out', 'pulled'], { cwd, env })).stderr).toContain(
          'unchanged',
        );
      },
    );

    it('prints what a tag named before it is moved', async () => {
      const reference = `${open.host}/team/moved:v1`;
      const { digest } = await pushed([catalog, reference]);
      expect(await pushed([definition, reference])).toMatchObject({ outcome: 'moved', before: digest });
    });

    it('scripts and executables for several platforms', async () => {
      const { cwd, env } = home();
      writeFileSync(path.join(cwd, 'set-labels.star'), 'def transform(resources):\n  return resources\n');
      writeFileSync(path.join(cwd, 'fn-amd64'), Buffer.alloc(3_000_000, 'a'));
      writeFileSync(path.join(cwd, 'fn-arm64'), Buffer.alloc(3_000_000, 'b'));
      await pushed(['set-labels.star', `${open.host}/team/script:1`], { cwd, env });
      const exec = ['--exec', 'linux/amd64=fn-amd64', '--exec', 'linux/arm64=fn-arm64'];
      const reference = `${open.host}/team/exec:1`;
      expect(await pushed([...exec, reference], { cwd, env })).toMatchObject({
        mediaType: MEDIA_TYPES.index,
      });
      done(await krmhub(['pull', reference, '--platform', 'linux/arm64', '--out', 'bin'], { cwd, env }));
      expect(readFileSync(path.join(cwd, 'bin/fn-arm64')).equals(Buffer.alloc(3_000_000, 'b'))).toBe(true);
      expect(statSync(path.join(cwd, 'bin/fn-arm64')).mode & 0o100).toBe(0o100);
      const missing = await krmhub(['pull', reference, '--platform', 'windows/amd64'], { cwd, env });
      expect(missing).toMatchObject({ code: 3 });
      expect(missing.stderr).toContain('linux/amd64, linux/arm64');
    });

    it('does not overwrite a file with other content without --overwrite', async () => {
      const { cwd, env } = home();
      const reference = `${open.host}/team/kept:v1`;
      await pushed([catalog, reference]);
      writeFileSync(path.join(cwd, 'example-co.yaml'), 'mine');
      expect(await krmhub(['pull', reference], { cwd, env })).toMatchObject({ code: 1 });
      expect(readFileSync(path.join(cwd, 'example-co.yaml'), 'utf8')).toBe('mine');
      done(await krmhub(['pull', reference, '--overwrite'], { cwd, env }));
      expect(readFileSync(path.join(cwd, 'example-co.yaml'))).toEqual(readFileSync(catalog));
    });

    it('logs in with the credentials of docker login, and with a helper', async () => {
      const reference = `${closed.host}/team/catalog:v1`;
      const refused = await krmhub(['push', catalog, reference], home());
      expect(refused).toMatchObject({ code: 6 });
      expect(refused.stderr).toContain(`docker login ${closed.host}`);
      const auth = Buffer.from('user:password').toString('base64');
      await pushed([catalog, reference], home({ auths: { [`https://${closed.host}/v2/`]: { auth } } }));
      const wrong = Buffer.from('user:wrong').toString('base64');
      const other = await krmhub(['pull', reference], home({ auths: { [closed.host]: { auth: wrong } } }));
      expect(other).toMatchObject({ code: 6 });
      expect(other.stderr).not.toContain(wrong);

      const { cwd, env } = home({
        credHelpers: { [closed.host]: 'kept' },
        auths: { [closed.host]: { auth: wrong } },
      });
      const helper = path.join(cwd, 'docker-credential-kept');
      const answer = JSON.stringify({ ServerURL: closed.host, Username: 'user', Secret: 'password' });
      writeFileSync(
        helper,
        `#!/bin/sh\nread server\n[ "$1 $server" = "get ${closed.host}" ] && echo '${answer}'\n`,
        { mode: 0o755 },
      );
      const withHelper = { cwd, env: { ...env, PATH: `${cwd}:${process.env.PATH}` } };
      done(await krmhub(['pull', reference, '--out', 'pulled'], withHelper));
      const without = await krmhub(['pull', reference, '--out', 'pulled'], { cwd, env });
      expect(without).toMatchObject({ code: 6 });
      expect(without.stderr).toContain('docker-credential-kept');
    });

    it('copies an artifact with all that refers to it, and keeps every digest', async () => {
      const repository = `${open.host}/team/signed`;
      const { digest } = await pushed([catalog, `${repository}:v1`]);
      const base = `http://${open.host}/v2/team/signed`;
      const put = async (name: string, type: string, document: object): Promise<string> => {
        const body = JSON.stringify({ schemaVersion: 2, mediaType: type, ...document });
        const answer = await fetch(`${base}/manifests/${name}`, {
          method: 'PUT',
          body,
          headers: { 'Content-Type': type },
        });
        expect(answer.status).toBe(201);
        return computeDigest(Buffer.from(body));
      };
      const config = { mediaType: MEDIA_TYPES.empty, digest: computeDigest(EMPTY_CONFIG), size: 2 };
      const subject = { mediaType: MEDIA_TYPES.image, digest, size: 1 };
      const bundle = 'application/vnd.dev.sigstore.bundle.v0.3+json';
      const signature = { artifactType: bundle, config, layers: [config], subject };
      const signed = await put('signature', MEDIA_TYPES.image, signature);
      const size = Buffer.byteLength(
        JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.image, ...signature }),
      );
      const referrer = { mediaType: MEDIA_TYPES.image, artifactType: bundle, digest: signed, size };
      await put(digest.replace(':', '-'), MEDIA_TYPES.index, { manifests: [referrer] });
      await put(`${digest.replace(':', '-')}.sig`, MEDIA_TYPES.image, { config, layers: [config] });

      const auth = Buffer.from('user:password').toString('base64');
      const options = home({ auths: { [closed.host]: { auth } } });
      const target = `${closed.host}/mirror/signed`;
      const copy = ['copy', `${repository}:v1`, `${target}:v1`, '-o', 'json'];
      expect(JSON.parse(done(await krmhub(copy, options)).stdout)).toMatchObject({ digest, referrers: 2 });
      const read = async (name: string) => {
        const headers = {
          Authorization: `Basic ${auth}`,
          Accept: `${MEDIA_TYPES.image}, ${MEDIA_TYPES.index}`,
        };
        const answer = await fetch(`http://${closed.host}/v2/mirror/signed/manifests/${name}`, { headers });
        return { status: answer.status, document: (await answer.json()) as { manifests?: object[] } };
      };
      expect(await read(signed)).toMatchObject({ status: 200, document: { subject } });
      expect(await read(digest.replace(':', '-'))).toMatchObject({
        document: { manifests: [{ digest: signed, artifactType: bundle }] },
      });
      expect(await read(`${digest.replace(':', '-')}.sig`)).toMatchObject({ status: 200 });
      expect(await read('v1')).toMatchObject({ status: 200 });

      const alone = [
        'copy',
        `${repository}:v1`,
        `${closed.host}/mirror/alone:v1`,
        '--no-referrers',
        '-o',
        'json',
      ];
      expect(JSON.parse(done(await krmhub(alone, options)).stdout)).toMatchObject({ digest, referrers: 0 });
    });

    it('works as docs/oci-artifacts.md and the help describe', async () => {
      const { cwd, env } = home();
      const write = (name: string, bytes: string | Buffer) => {
        mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true });
        writeFileSync(path.join(cwd, name), bytes);
      };
      write('catalog.yaml', readFileSync(catalog));
      write('definition.yaml', readFileSync(definition));
      write('set-labels.star', 'def transform(resources):\n  return resources\n');
      write('rendered/app.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n');
      for (const name of ['bin/set-labels', 'bin/amd64/set-labels', 'bin/arm64/set-labels'])
        write(name, name);
      const examples = [
        ...readFileSync(path.join(root, 'docs/commands.md'), 'utf8').matchAll(
          // Those of releases need a krmhub registry, and run in test/help-examples.test.ts.
          /^ {2}(krmhub (push|pull|copy|repo) (?!.*example\.com\/SetLabels)(?!list$).*)$/gm,
        ),
      ];
      const order = ['push', 'pull', 'copy', 'repo'];
      const inOrder = examples.sort(([, , a], [, , b]) => order.indexOf(a!) - order.indexOf(b!));
      expect(inOrder.length).toBeGreaterThan(8);
      const scripts = [
        ...documentBlocks('docs/oci-artifacts.md', 'oci'),
        ...inOrder.filter(([, , name]) => name === 'push').map(([, example]) => example!),
        // The policy that an example names.
        'krmhub keygen --out team',
        'krmhub sign localhost:5000/team/exec:1.0.0 --key team.key',
        "krmhub trust add example --group '*' --key team.pub",
        ...inOrder.filter(([, , name]) => name !== 'push').map(([, example]) => example!),
      ];
      const script = scripts
        .join('\n')
        .replaceAll(/\b(registry\.example\.com|localhost:5000)\b/g, open.host)
        .replaceAll(/^krmhub /gm, `"${process.execPath}" "${path.join(root, 'apps/cli/bin/krmhub.js')}" `);
      const result = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-s'], {
        cwd,
        input: script,
        encoding: 'utf8',
        env: cleanEnvironment(cwd, { ...env, KRMHUB_KEY_PASSWORD: 'of the test' }),
      });
      expect(result.status, result.stderr).toBe(0);
      expect(readFileSync(path.join(cwd, 'pulled/set-labels'), 'utf8')).toBe('bin/arm64/set-labels');
    });

    it.skipIf(!hasCrane)(
      `crane reads what is pushed${hasCrane ? '' : ' (skipped: crane is not installed)'}`,
      async () => {
        const reference = `${open.host}/team/crane:v1`;
        const { digest } = await pushed([catalog, reference]);
        expect(run('crane', 'digest', reference).trim()).toBe(digest);
        const layer = JSON.parse(run('crane', 'manifest', reference)).layers[0].digest;
        expect(run('crane', 'blob', `${open.host}/team/crane@${layer}`)).toBe(readFileSync(catalog, 'utf8'));
        run('crane', 'copy', reference, `${open.host}/team/crane-copy:v1`);
        const { cwd, env } = home();
        done(await krmhub(['pull', `${open.host}/team/crane-copy:v1`], { cwd, env }));
        expect(readFileSync(path.join(cwd, 'example-co.yaml'))).toEqual(readFileSync(catalog));
      },
    );

    it.skipIf(!hasSkopeo)(
      `skopeo copies what is pushed${hasSkopeo ? '' : ' (skipped: skopeo is not installed)'}`,
      async () => {
        const { digest } = await pushed([definition, `${open.host}/team/skopeo:v1`]);
        const [from, to] = ['skopeo:v1', 'skopeo-copy:v1'].map(
          (name) => `docker://${open.host}/team/${name}`,
        );
        const insecure = ['--src-tls-verify=false', '--dest-tls-verify=false'];
        run('skopeo', 'copy', '--preserve-digests', ...insecure, from!, to!);
        const { cwd, env } = home();
        const copied = `${open.host}/team/skopeo-copy@${digest}`;
        done(await krmhub(['pull', copied], { cwd, env }));
        expect(readFileSync(path.join(cwd, '2.0.0.yaml'))).toEqual(readFileSync(definition));
      },
    );
  },
);
