import { readFileSync } from 'node:fs';
import path from 'node:path';
import { computeDigest } from '@krmhub/oci';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { buildGoProgram } from './go-program.js';
import {
  definitionLayer,
  definitionType,
  manifestAt,
  missingReason,
  newToken,
  registryHost,
  titleWithReason,
  User,
} from './oci-tools.js';

/** Functions and catalogs as artifacts: other projects' clients publish and read them unchanged. */

const { folder, remove } = temporaryFolder();
const { file: orasGo, whyNot: noOrasGo } = buildGoProgram('oras-go');
const noRegctl = missingReason('regctl');
const noCrane = missingReason('crane');
const noSkopeo = missingReason('skopeo');
const missing = noOrasGo ?? noRegctl ?? noCrane ?? noSkopeo;

const fixture = (name: string) => readFileSync(path.join(fixtures, 'functions', name), 'utf8');
const textAt = async (url: string) => (await fetch(url)).text();
const files = {
  'old.yaml': fixture('set-labels/1.0.0.yaml'),
  'new.yaml': fixture('set-labels/1.1.0.yaml'),
  'breaking.yaml': fixture('set-labels/2.0.0.yaml'),
  'namespace.yaml': fixture('set-namespace/1.4.2.yaml'),
  'chart.yaml': fixture('render-chart/3.1.0.yaml'),
  'README.md': fixture('set-labels/README.md'),
};
const signatureType = 'application/vnd.example.signature.v1';
const labels = 'functions/functions.example.com/setlabels';

let registry: RunningRegistry;
let host: string;
let user: User;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  host = registryHost(registry);
  user = new User(folder).storeCredentials(host, registry.token);
  for (const [name, bytes] of Object.entries(files)) user.write(name, bytes);
  user.write('invalid.yaml', files['old.yaml'].replace(/^ {2}description:.*\n/m, ''));
  user.write('signature.json', '{"signed":true}');
  if (noRegctl === undefined) await user.regctlKnows(host);
});
afterAll(async () => {
  await registry?.stop();
  remove();
});

const push = (reference: string, file: string, ...more: string[]): [string, ...string[]] => [
  orasGo,
  ...['push', '-artifact-type', definitionType, ...more, `${host}/${reference}`],
  `${file}:${definitionLayer}`,
];

async function releasesOf(name: string, group = 'functions.example.com'): Promise<string[]> {
  const answer = await fetch(`${registry.url}/api/v1/functions/${group}/${name}`);
  if (answer.status === 404) return [];
  const { releases } = (await answer.json()) as { releases: { release: string }[] };
  return releases.map(({ release }) => release).sort();
}

describe.skipIf(missing !== undefined)(titleWithReason('a function as an artifact', missing), () => {
  it('is published by oras-go, with a README, and every client finds and reads it', async () => {
    const digest = await user.mustSucceed(...push(`${labels}:1.0.0`, 'old.yaml'), 'README.md:text/markdown');
    const searched = await krmhub(['search', 'labels'], { env: registry.env });
    expect(searched.stdout).toContain('functions.example.com/SetLabels\t1.0.0');
    const release = `${registry.url}/api/v1/functions/functions.example.com/SetLabels/releases/1.0.0`;
    expect(await textAt(`${release}/definition.yaml`)).toBe(files['old.yaml']);
    expect(await textAt(`${release}/readme.md`)).toBe(files['README.md']);
    expect(await user.mustSucceed('crane', 'digest', `${host}/${labels}:1.0.0`)).toBe(digest);
    expect(await user.mustSucceed('crane', 'digest', `${host}/${labels}:v1.0`)).toBe(digest);
    const again = await user.mustSucceed(...push(`${labels}:1.0.0`, 'old.yaml'), 'README.md:text/markdown');
    expect(await user.mustSucceed('crane', 'digest', `${host}/${labels}:1.0.0`)).toBe(digest);
    expect(again).toMatch(/^sha256:/);
  });

  it('is published by regctl', async () => {
    const artifact = ['artifact', 'put', '--artifact-type', definitionType, '-m', definitionLayer];
    const namespace = 'functions/functions.example.com/setnamespace';
    await user.regctl(...artifact, '--file', 'namespace.yaml', `${host}/${namespace}:v1.4.2`);
    expect(await releasesOf('SetNamespace')).toEqual(['1.4.2']);
    expect(await user.mustSucceed('crane', 'ls', `${host}/${namespace}`)).toBe('1.4.2');
  });

  it('is refused with another definition under the same tag, and each client prints the reason', async () => {
    const stands =
      /SetLabels@1\.0\.0 already exists with the digest .*[Pp]ublish the change as a new release/;
    expect(await user.isRefused(...push(`${labels}:1.0.0`, 'new.yaml'))).toMatch(stands);
    const artifact = ['artifact', 'put', '--artifact-type', definitionType, '-m', definitionLayer];
    const put = [...artifact, '--file', 'new.yaml', `${host}/${labels}:1.0.0`];
    expect(await user.isRefused('regctl', ...put)).toMatch(stands);
    await user.mustSucceed(...push(`${labels}:1.1.0`, 'new.yaml'));
    const copy = [`${host}/${labels}:1.1.0`, `${host}/${labels}:1.0.0`] as const;
    expect(await user.isRefused('crane', 'copy', ...copy)).toMatch(stands);
    const [from, to] = copy.map((reference) => `docker://${reference}`) as [string, string];
    const insecure = ['--insecure-policy', '--src-tls-verify=false', '--dest-tls-verify=false'];
    expect(await user.isRefused('skopeo', 'copy', ...insecure, from, to)).toMatch(stands);
    expect(await releasesOf('SetLabels')).toEqual(['1.0.0', '1.1.0']);
  });

  it('is refused with an invalid definition, and each client prints the line and the fix', async () => {
    const invalid = /line \d+: `description` is missing\. What the function does, in one line/;
    expect(await user.isRefused(...push(`${labels}:1.2.0`, 'invalid.yaml'))).toMatch(invalid);
    const artifact = ['artifact', 'put', '--artifact-type', definitionType, '-m', definitionLayer];
    const put = [...artifact, '--file', 'invalid.yaml', `${host}/${labels}:1.2.0`];
    const said = await user.isRefused('regctl', ...put);
    expect(said).toMatch(invalid);
    expect(said).toContain('MANIFEST_INVALID');
    expect(await user.isRefused(...push(`${labels}:latest`, 'old.yaml'))).toContain(
      'the release "latest" is not a SemVer version. Use a release such as',
    );
    const other = 'functions/functions.example.com/other:1.0.0';
    expect(await user.isRefused(...push(other, 'old.yaml'))).toContain(
      'has the kind SetLabels, but you publish to the kind other',
    );
    expect(
      await user.isRefused('crane', 'copy', `${host}/catalogs/default:1`, `${host}/${labels}:1.2.0`),
    ).toMatch(/MANIFEST_INVALID: not a function definition/);
    expect(await releasesOf('SetLabels')).toEqual(['1.0.0', '1.1.0']);
  });

  it('is refused if it breaks its users, unless an annotation allows that', async () => {
    const said = await user.isRefused(...push(`${labels}:2.0.0`, 'breaking.yaml'));
    expect(said).toContain('the API version v1beta1 is removed');
    expect(said).toContain('the manifest annotation dev.krmhub.allow-breaking=true');
    const allowed = ['-annotation', 'dev.krmhub.allow-breaking=true'];
    await user.mustSucceed(...push(`${labels}:2.0.0`, 'breaking.yaml', ...allowed));
    expect(await releasesOf('SetLabels')).toContain('2.0.0');
  });

  it('is not published by its digest, nor by a signature that is pushed before it', async () => {
    const chart = 'functions/charts.example.net/renderchart';
    const digest = await user.mustSucceed(...push(chart, 'chart.yaml'));
    expect(await releasesOf('RenderChart', 'charts.example.net')).toEqual([]);
    const attach = ['attach', '-artifact-type', signatureType, `${host}/${chart}@${digest}`];
    const signature = await user.mustSucceed(orasGo, ...attach, 'signature.json:application/json');
    expect(await releasesOf('RenderChart', 'charts.example.net')).toEqual([]);
    await user.mustSucceed('crane', 'tag', `${host}/${chart}@${digest}`, '3.1.0');
    expect(await releasesOf('RenderChart', 'charts.example.net')).toEqual(['3.1.0']);
    const listed = await user.mustSucceed(orasGo, 'discover', `${host}/${chart}:3.1.0`);
    expect(listed).toBe(`${signature} ${signatureType}`);
    expect(await user.mustSucceed('crane', 'ls', `${host}/${chart}`)).toBe('3.1.0');
  });

  it('cannot be deleted by any client', async () => {
    const reference = `${host}/${labels}:1.0.0`;
    const digest = await user.mustSucceed('crane', 'digest', reference);
    const byDigest = `${host}/${labels}@${digest}`;
    const forever = 'cannot delete a release: it is immutable. Remove it from catalogs';
    expect(await user.isRefused('crane', 'delete', reference)).toContain(`DENIED: ${forever}`);
    expect(await user.isRefused('crane', 'delete', byDigest)).toContain(`DENIED: ${forever}`);
    const skopeo = ['delete', '--tls-verify=false', `docker://${reference}`];
    expect(await user.isRefused('skopeo', ...skopeo)).toContain(forever);
    expect(await user.isRefused('regctl', 'manifest', 'delete', byDigest)).toContain(forever);
    // It tries to put its own manifest under the tag, to delete that.
    await user.isRefused('regctl', 'tag', 'delete', reference);
    expect(await user.mustSucceed('crane', 'digest', reference)).toBe(digest);
  });

  it('can be published only with the permission for its group', async () => {
    const ours = await newToken(registry, 'ours', '--scope', 'publish', '--group', 'functions.example.com');
    const others = await newToken(registry, 'others', '--scope', 'publish', '--group', 'example.com');
    const pusher = await newToken(registry, 'pusher', '--scope', 'push');
    const says = async (token: string) => {
      const other = new User(folder).storeCredentials(host, token);
      other.write('new.yaml', files['new.yaml']);
      return other.run(...splitCommand(push(`${labels}:1.1.1`, 'new.yaml')));
    };
    expect((await says(others)).stderr).toMatch(
      /"others" does not have the group "functions\.example\.com"\. .*--scope publish --group functions\.example\.com/,
    );
    expect((await says(pusher)).stderr).toContain('"pusher" does not have the scope "publish"');
    expect(await says(ours)).toMatchObject({ code: 0 });
  });
});

function splitCommand([program, ...args]: [string, ...string[]]): [string, string[]] {
  return [program, args];
}

describe.skipIf(missing !== undefined)(
  titleWithReason('artifacts that the registry creates', missing),
  () => {
    it('exist for every release that was published over HTTP', async () => {
      const published = {
        'rename-images/0.2.0.yaml': 'functions.example.com/renameimages:0.2.0',
        'require-limits/0.9.0.yaml': 'policy.example.org/requirelimits:0.9.0',
      };
      for (const [file, name] of Object.entries(published)) {
        const release = path.basename(file, '.yaml');
        const args = ['publish', path.join(fixtures, 'functions', file), '--release', release];
        const published = await krmhub(args, { env: registry.env });
        expect(published.code, published.stderr).toBe(0);
        const reference = `${host}/functions/${name}`;
        const anybody = new User(folder);
        await anybody.mustSucceed(orasGo, 'pull', reference, '.');
        expect(readFileSync(anybody.at('definition.yaml'), 'utf8')).toBe(fixture(file));
        const manifest = JSON.parse(await anybody.mustSucceed('crane', 'manifest', reference));
        expect(manifest).toMatchObject({ artifactType: definitionType });
        const [{ digest }] = manifest.layers;
        const blob = `${reference.replace(/:[^:]*$/, '')}@${digest}`;
        const { stdout } = await anybody.run('crane', ['blob', blob]);
        expect(stdout).toBe(fixture(file));
        await anybody.regctlKnows(host);
        expect((await anybody.run('regctl', ['artifact', 'get', reference])).stdout).toBe(stdout);
      }
    });

    it('exist for each snapshot, with the bytes of HTTP', async () => {
      const current = await textAt(`${registry.url}/catalogs/default/catalog.yaml`);
      expect(current).toContain('kind: SetLabels');
      const anybody = new User(folder);
      await anybody.mustSucceed(orasGo, 'pull', `${host}/catalogs/default:latest`, 'latest');
      expect(readFileSync(anybody.at('latest/catalog.yaml'), 'utf8')).toBe(current);
      await anybody.mustSucceed(orasGo, 'pull', `${host}/catalogs/default:1`, 'first');
      const first = await textAt(`${registry.url}/catalogs/default/snapshots/1/catalog.yaml`);
      expect(readFileSync(anybody.at('first/catalog.yaml'), 'utf8')).toBe(first);
      expect(first).not.toBe(current);
      const tags = (await anybody.mustSucceed('crane', 'ls', `${host}/catalogs/default`)).split('\n');
      expect(tags).toEqual(expect.arrayContaining(['1', '2', 'latest']));
      const { manifest } = await manifestAt(registry.url, 'catalogs/default', 'latest');
      expect(manifest).toMatchObject({
        layers: [{ digest: computeDigest(Buffer.from(current)), size: Buffer.byteLength(current) }],
      });
    });

    it('accept signatures of a catalog, and no catalog', async () => {
      const catalog = `${host}/catalogs/default`;
      const { digest } = await manifestAt(registry.url, 'catalogs/default', 'latest');
      const cut = 'DENIED: cannot push catalogs: the registry builds them';
      for (const target of [`${catalog}:latest`, `${catalog}:mine`, `${host}/catalogs/mine:1`])
        expect(await user.isRefused('crane', 'copy', `${host}/${labels}:1.0.0`, target)).toContain(cut);
      const put = ['artifact', 'put', '--artifact-type', signatureType, '--file', 'signature.json'];
      await user.regctl(...put, '--subject', `${catalog}@${digest}`);
      expect(await user.regctl('artifact', 'list', `${catalog}@${digest}`)).toContain(signatureType);
      expect(await user.isRefused('crane', 'delete', `${catalog}@${digest}`)).toContain(
        'cannot delete a snapshot: it is immutable',
      );
      expect((await manifestAt(registry.url, 'catalogs/default', 'latest')).digest).toBe(digest);
    });
  },
);
