import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { type DockerRegistry, hasDockerRegistry, startDockerRegistry } from './docker-registry.js';
import { buildGoProgram } from './go-program.js';
import { manifestAt, missingReason, newToken, registryHost, titleWithReason, User } from './oci-tools.js';

/** `krmhub push`, `pull` and `copy` with our own registry on one side, or on both. */

const { folder, remove } = temporaryFolder();
const { file: orasGo, whyNot: noOrasGo } = buildGoProgram('oras-go');
const noOthers = noOrasGo ?? missingReason('crane');
const noMirror = hasDockerRegistry ? undefined : 'docker-registry is not installed';

const files = {
  'catalog.yaml': readFileSync(path.join(fixtures, 'catalogs/example-co.yaml')),
  'definition.yaml': readFileSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml')),
  'other.yaml': readFileSync(path.join(fixtures, 'functions/set-labels/1.1.0.yaml')),
  'set-labels.star': Buffer.from('def transform(resources):\n  return resources\n'),
};

let registry: RunningRegistry;
let host: string;
let token: string;
let mirror: DockerRegistry | undefined;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  host = registryHost(registry);
  token = await newToken(registry, 'builds', '--scope', 'push', '--repository', 'team/*');
  if (hasDockerRegistry) mirror = await startDockerRegistry(path.join(folder, 'mirror'));
});
afterAll(async () => {
  await mirror?.stop();
  await registry?.stop();
  remove();
});

function publisher(secret = token): User {
  const user = new User(folder).storeCredentials(host, secret);
  for (const [name, bytes] of Object.entries(files)) user.write(name, bytes);
  return user;
}

describe('krmhub with our own registry', () => {
  it.each([
    ['catalog', 'catalog.yaml'],
    ['definition', 'definition.yaml'],
    ['starlark', 'set-labels.star'],
  ] as const)('pushes a %s, and any client pulls the same bytes', async (type, file) => {
    const reference = `${host}/team/${type}:v1`;
    const pushed = await publisher().krmhubMustSucceed('push', file, reference);
    expect(pushed).toMatchObject({ type, outcome: 'pushed' });
    expect(await publisher().krmhubMustSucceed('push', file, reference)).toMatchObject({
      outcome: 'unchanged',
      digest: pushed.digest,
    });
    const anybody = new User(folder);
    expect(await anybody.krmhubMustSucceed('pull', reference, '--out', 'pulled')).toMatchObject({
      digest: pushed.digest,
    });
    expect(readFileSync(anybody.at(`pulled/${file}`))).toEqual(files[file]);
  });

  it.skipIf(noOthers !== undefined)(
    titleWithReason('pushes what oras-go and crane pull with the same bytes', noOthers),
    async () => {
      const reference = `${host}/team/for-others:v1`;
      const { digest } = await publisher().krmhubMustSucceed('push', 'catalog.yaml', reference);
      const anybody = new User(folder);
      expect(await anybody.mustSucceed(orasGo, 'pull', reference, '.')).toBe(digest);
      expect(readFileSync(anybody.at('catalog.yaml'))).toEqual(files['catalog.yaml']);
      const { layers } = JSON.parse(await anybody.mustSucceed('crane', 'manifest', reference));
      const blob = `${host}/team/for-others@${layers[0].digest}`;
      const { stdout } = await anybody.run('crane', ['blob', blob]);
      expect(stdout).toBe(files['catalog.yaml'].toString());
    },
  );

  it('pushes executables for several platforms, and pulls one', async () => {
    const user = publisher();
    user.write('fn-amd64', Buffer.alloc(3_000_000, 'a'));
    user.write('fn-arm64', Buffer.alloc(3_000_000, 'b'));
    const reference = `${host}/team/exec:1`;
    const exec = ['--exec', 'linux/amd64=fn-amd64', '--exec', 'linux/arm64=fn-arm64'];
    await user.krmhubMustSucceed('push', ...exec, reference);
    const anybody = new User(folder);
    await anybody.krmhubMustSucceed('pull', reference, '--platform', 'linux/arm64');
    expect(readFileSync(anybody.at('fn-arm64')).equals(Buffer.alloc(3_000_000, 'b'))).toBe(true);
    expect(statSync(anybody.at('fn-arm64')).mode & 0o100).toBe(0o100);
    const copied = await user.krmhubMustSucceed('copy', reference, `${host}/team/exec-copy:1`);
    // The blobs are in the registry already.
    expect(copied).toMatchObject({ manifests: 3, sentBytes: 0 });
  });

  it('publishes a definition by its tag, and lints the stored one', async () => {
    const user = publisher(registry.token);
    const name = `${host}/functions/functions.example.com/setlabels`;
    const pushed = await user.krmhubMustSucceed('push', 'definition.yaml', `${name}:1.0.0`);
    const { digest } = await manifestAt(registry.url, 'functions/functions.example.com/setlabels', 'v1.0.0');
    expect(digest).toBe(pushed.digest);
    expect(await user.krmhub('lint', `oci://${name}:1.0.0`)).toMatchObject({ code: 0 });
    const other = await user.krmhub('push', 'other.yaml', `${name}:1.0.0`);
    expect(other.code).not.toBe(0);
    expect(other.stderr).toContain('A release cannot change. Publish the change as a new release.');
    expect(other.stderr).not.toContain('as a user with access');
    const target = `${host}/team/released:1.0.0`;
    expect(await user.krmhubMustSucceed('copy', `${name}:1.0.0`, target)).toMatchObject({ digest });
    await user.krmhubMustSucceed('copy', `${host}/catalogs/default:latest`, `${host}/team/cut:1`);
    const anybody = new User(folder);
    await anybody.krmhubMustSucceed('pull', `${host}/team/cut:1`);
    const answer = await fetch(`${registry.url}/catalogs/default/catalog.yaml`);
    expect(readFileSync(anybody.at('catalog.yaml'), 'utf8')).toBe(await answer.text());
  });

  it('prints the missing permission of a token, and how to log in without one', async () => {
    const lacking = await publisher().krmhub('push', 'catalog.yaml', `${host}/other/catalog:v1`);
    expect(lacking).toMatchObject({ code: 6 });
    expect(lacking.stderr).toContain('the token "builds" does not have the repository "other/catalog"');
    expect(lacking.stderr).toContain('krmhub token create NAME --scope push --repository other/catalog');
    const stranger = new User(folder);
    stranger.write('catalog.yaml', files['catalog.yaml']);
    const unknown = await stranger.krmhub('push', 'catalog.yaml', `${host}/team/unknown:v1`);
    expect(unknown).toMatchObject({ code: 6 });
    expect(unknown.stderr).toContain('An administrator creates tokens with `krmhub token create');
    expect(unknown.stderr).toContain(`Run \`docker login ${host}\``);
    const wrong = await publisher('krmhub_wrong').krmhub('push', 'catalog.yaml', `${host}/team/unknown:v1`);
    expect(wrong).toMatchObject({ code: 6 });
    expect(wrong.stderr).toContain('responded with 401: UNAUTHORIZED, ');
    expect(wrong.stderr).not.toContain('krmhub_wrong');
  });
});

describe.skipIf(noMirror !== undefined || noOthers !== undefined)(
  titleWithReason('krmhub copy between our registry and another', noMirror ?? noOthers),
  () => {
    it('copies referrers, both ways, and keeps digests', async () => {
      const user = publisher();
      user.write('signature.json', '{"signed":true}');
      const source = `${host}/team/signed:v1`;
      const { digest } = await user.krmhubMustSucceed('push', 'catalog.yaml', source);
      const type = 'application/vnd.example.signature.v1';
      const attach = ['attach', '-artifact-type', type, source, 'signature.json:application/json'];
      const signature = await user.mustSucceed(orasGo, ...attach);
      // The tag that cosign uses without referrers.
      const tag = `${String(digest).replace(':', '-')}.sig`;
      await user.mustSucceed('crane', 'tag', `${host}/team/signed@${signature}`, tag);

      const there = `${mirror!.host}/team/signed:v1`;
      expect(await user.krmhubMustSucceed('copy', source, there)).toMatchObject({ digest });
      const fallback = String(digest).replace(':', '-');
      const { manifest } = await manifestAt(`http://${mirror!.host}`, 'team/signed', fallback);
      expect(manifest).toMatchObject({ manifests: [{ digest: signature, artifactType: type }] });
      const attached = await manifestAt(`http://${mirror!.host}`, 'team/signed', tag);
      expect(attached).toMatchObject({ status: 200, digest: signature });

      const back = `${host}/team/signed-back:v1`;
      expect(await user.krmhubMustSucceed('copy', there, back)).toMatchObject({ digest });
      expect(await user.mustSucceed(orasGo, 'discover', back)).toBe(`${signature} ${type}`);
      expect(await user.mustSucceed('crane', 'ls', `${host}/team/signed-back`)).toBe(`${tag}\nv1`);
    });

    it('copies a release and its signature to a registry of images', async () => {
      const user = publisher(registry.token);
      user.write('signature.json', '{"signed":true}');
      const release = `${host}/functions/functions.example.com/setlabels:1.1.0`;
      const { digest } = await user.krmhubMustSucceed('push', 'other.yaml', release);
      const type = 'application/vnd.example.signature.v1';
      const attach = ['attach', '-artifact-type', type, release, 'signature.json:application/json'];
      await user.mustSucceed(orasGo, ...attach);
      const target = `${mirror!.host}/mirror/set-labels:1.1.0`;
      expect(await user.krmhubMustSucceed('copy', release, target)).toMatchObject({ digest, referrers: 1 });
    });
  },
);
