import { readFile } from 'node:fs/promises';
import type { OciClient } from '@krmhub/oci';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutdatedEntry, OutdatedReport } from '../outdated/outdated-report.js';
import { createOciClient } from '../registry/connect-oci.js';
import { definitionText } from '../testing/catalog-build.js';
import { expectEnd, runTest, type TestIo, type TestIoOptions } from '../testing/command-line.js';
import { pushTestImage } from '../testing/images.js';
import { type TestPackage, testPackage } from '../testing/package-files.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** `krmhub outdated` of kustomizations, Kptfiles, and images, with a real registry behind a proxy that counts. */

const place = proxiedRegistry();
let pack: TestPackage;
let oci: OciClient;
let host: string;

const config = (kind: string, more = '') =>
  `apiVersion: ${GROUP}/v1\nkind: ${kind}\nmetadata:\n  name: ${kind.toLowerCase()}\n${more}`;
const kustomization = (...files: string[]) =>
  `catalogs: ["${place.catalogUrl()}"]\ntransformers: [${files.join(', ')}]\n`;
const kptfile = (steps: string) =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n${steps}`;
const trust = () => ['--trusted-catalog', place.catalogUrl()];

function run(args: string[], options: TestIoOptions = {}): Promise<TestIo> {
  return runTest(args, { cwd: pack.folder, env: place.env(), ...options });
}

async function report(...args: string[]): Promise<OutdatedReport & { exitCode: number }> {
  const io = await run(['outdated', ...args, '-o', 'json']);
  return { ...JSON.parse(io.out()), exitCode: io.exitCode };
}

async function lock(...args: string[]): Promise<void> {
  const io = await run(['lock', ...args, ...trust()]);
  expect(io.exitCode, io.err()).toBe(0);
}

/** Publishes a definition after an edit of its text, with its image. */
async function publish(kind: string, release: string, edit: (text: string) => string = (text) => text) {
  const digest = await push(kind.toLowerCase(), `v${release}`);
  const text = edit(definitionText({ group: GROUP, kind, release }))
    .replaceAll('registry.example.com', host)
    .replace(/sha256: a+/, `sha256: ${digest.slice('sha256:'.length)}`);
  await place.client.publish({
    group: GROUP,
    kind,
    release,
    definition: new TextEncoder().encode(text),
    mediaType: 'application/yaml',
    allowBreaking: true,
    wait: true,
  });
}

const push = (repository: string, tag: string, content = tag) =>
  pushTestImage(oci, { host, repository, tag }, content);
const versions = ({ locked, wanted, newest }: OutdatedEntry) =>
  [locked, wanted, newest].map((one) => one?.release ?? one?.tag);

beforeAll(async () => {
  host = new URL(place.registry.url).host;
  oci = createOciClient({ env: place.registry.env });
  await publish('SetLabels', '1.0.0');
  await publish('SetNames', '1.0.0');
});
beforeEach(async () => {
  pack = await testPackage();
});
afterEach(() => pack.remove());

describe('krmhub outdated', () => {
  it('says of each functionConfig what is locked, wanted, and newest', async () => {
    await pack.write({
      'app/kustomization.yaml': kustomization('labels.yaml', 'names.yaml'),
      'app/labels.yaml': config('SetLabels'),
      'app/names.yaml': config('SetNames'),
    });
    await lock('app');
    const current = await report('app', '--check', ...trust());
    expect(current).toMatchObject({ path: 'app', exitCode: 0, failures: [], problems: [], programs: 0 });
    expect(current.entries.map(({ kind, state }) => [kind, state])).toEqual([
      ['SetLabels', 'current'],
      ['SetNames', 'current'],
    ]);
    await publish('SetLabels', '1.1.0');
    const found = await report('app', '--check', ...trust());
    expect([found.exitCode, (await report('app', ...trust())).exitCode]).toEqual([1, 0]);
    expect(found.entries[0]).toMatchObject({
      file: 'app/labels.yaml',
      line: 1,
      column: 1,
      field: 'transformers',
      name: 'setlabels',
      lockedAt: expect.stringMatching(/^app\/krmhub.lock:\d+$/),
      apiVersion: `${GROUP}/v1`,
      kind: 'SetLabels',
      catalog: place.catalogUrl(),
      page: `${place.proxy.url}/functions/${GROUP}/SetLabels`,
      state: 'behind',
      locked: { release: '1.0.0', publishedAt: expect.stringMatching(/Z$/) },
      wanted: { release: '1.1.0' },
      newest: { release: '1.1.0', publishedAt: expect.stringMatching(/Z$/) },
      update: 'minor',
      changes: ['patch'],
      notices: [],
    });
    expect(found.entries[1]!.state).toBe('current');
    const explained = await run(['explain', 'app', ...trust(), '-o', 'json']);
    expect(JSON.parse(explained.out()).functions).toMatchObject([
      {
        page: `${place.proxy.url}/functions/${GROUP}/SetLabels`,
        isLocked: true,
        release: '1.0.0',
        behind: { release: '1.1.0', changes: ['patch'] },
      },
      { page: `${place.proxy.url}/functions/${GROUP}/SetNames` },
    ]);
    expect(JSON.parse(explained.out()).functions[1]).not.toHaveProperty('behind');
    const shown = await run(['explain', 'app', ...trust()], { tty: true, columns: 200 });
    expect(shown.out()).toMatch(/behind +an upgrade takes 1.1.0: patch/);
    // One request of each command for both functions.
    expect(place.paths().filter((one) => one.endsWith('/releases'))).toHaveLength(5);
  });

  it('says what kind of change the upgrade is', async () => {
    const optional = (text: string) =>
      text.replace(
        '        properties:\n',
        '        properties:\n          team: {type: string, description: A team.}\n',
      );
    await publish('SetTeam', '1.0.0');
    await pack.write({
      'app/kustomization.yaml': kustomization('team.yaml'),
      'app/team.yaml': config('SetTeam'),
    });
    await lock('app');
    const kinds = async () => (await report('app', ...trust())).entries[0]?.changes;
    await publish('SetTeam', '1.0.1');
    expect(await kinds()).toEqual(['patch']);
    await publish('SetTeam', '1.1.0', optional);
    expect(await kinds()).toEqual(['new-field']);
    await publish('SetTeam', '1.2.0', (text) =>
      text.replace('        sha256', '        requireNetwork: true\n        sha256'),
    );
    expect(await kinds()).toEqual(['new-permission']);
    await publish('SetTeam', '1.3.0', (text) =>
      text.replace('/setteam:', '/other/setteam:').replace(/ +sha256: .*\n/, ''),
    );
    expect(await kinds()).toEqual(['other-registry', 'review']);
    await publish('SetTeam', '2.0.0', (text) => text.replaceAll('labels:', 'marks:'));
    expect(await report('app', ...trust())).toMatchObject({
      entries: [{ changes: ['breaking', 'new-field'], update: 'major', locked: { release: '1.0.0' } }],
    });
  });

  it('warns of what is yanked, deprecated, and taken down, also if nothing newer exists', async () => {
    await publish('Bad', '1.0.0');
    await pack.write({ 'app/kustomization.yaml': kustomization('bad.yaml'), 'app/bad.yaml': config('Bad') });
    await lock('app');
    const name = [GROUP, 'Bad', '1.0.0'] as const;
    const notices = async () => (await report('app', '--check', ...trust())).entries[0]?.notices;
    const replacement = { group: GROUP, kind: 'SetLabels', releases: '^1.0.0' };
    const warning = async () => (await run(['outdated', 'app', ...trust()])).err();
    await run(['deprecate', `${GROUP}/Bad@1.0.0`, '--use', `${GROUP}/SetLabels@^1.0.0`], {
      env: { ...place.env(), ...place.registry.env },
    });
    expect(await warning()).toMatch(/Bad 1.0.0 is deprecated: use \S+$/m);
    await place.client.deprecate(...name, { reason: 'old', replacement });
    expect(await notices()).toEqual([
      { type: 'deprecated', reason: 'old', replacement: `${GROUP}/SetLabels@^1.0.0` },
    ]);
    await place.client.yank(...name, 'it hurts');
    await expect
      .poll(notices)
      .toMatchObject([{ type: 'yanked', reason: 'it hurts' }, { type: 'deprecated' }]);
    const io = await run(['outdated', 'app', ...trust()], {
      tty: true,
      env: { ...place.env(), NO_COLOR: '1' },
    });
    expect(io.err()).toContain('warning: app/bad.yaml:1: Bad 1.0.0 is yanked: it hurts\n');
    await place.client.takedown(...name, { reason: 'malware' });
    await expect.poll(notices).toEqual([{ type: 'taken-down', reason: 'malware' }]);
    expect(await report('app', ...trust())).toMatchObject({ entries: [{ state: 'unknown' }] });
  });

  it('has steps of a Kptfile with only an image: by its digest, its tag, and its constraint', async () => {
    for (const tag of ['v0.1.0', 'v0.1.1', 'v0.2.0', 'v1.0.0', 'latest', 'v2.0.0-rc.1'])
      await push('fn/own', tag);
    const digest = await push('fn/own', 'v0.1.0');
    const own = `${host}/fn/own`;
    await pack.write({
      'app/Kptfile': kptfile(
        [
          `  - image: ${own}:latest\n`,
          `  - image: ${own}\n`,
          `  - image: ${own}:v0.1.0\n`,
          `  - image: ${own}@${digest}\n`,
          `  - image: ${own}:v0.1.0@${digest}\n`,
          `  - image: ${own}\n    tag: ~0.1\n`,
        ].join(''),
      ),
    });
    const { entries, exitCode } = await report('app');
    expect(exitCode).toBe(0);
    expect(entries.map((one) => [one.line, one.state, ...versions(one)])).toEqual([
      [7, 'not-pinned', undefined, 'latest', 'v1.0.0'],
      [8, 'not-pinned', undefined, 'latest', 'v1.0.0'],
      [9, 'not-pinned', undefined, 'v0.1.0', 'v1.0.0'],
      [10, 'newer', undefined, undefined, 'v1.0.0'],
      [11, 'newer', 'v0.1.0', 'v0.1.0', 'v1.0.0'],
      [12, 'not-pinned', undefined, 'v0.1.1', 'v1.0.0'],
    ]);
    expect(entries[0]?.wanted?.digest).toMatch(/^sha256:/);
    expect(entries[5]).toMatchObject({ range: '~0.1', image: `${own}:~0.1` });
    const locked = await run(['lock', 'app']);
    expect(locked.exitCode, locked.err()).toBe(0);
    await push('fn/own', 'v0.1.2');
    await push('fn/own', 'latest', 'moved');
    const after = await report('app', '--check');
    expect(after.entries.map((one) => [one.state, ...versions(one)])).toEqual([
      ['behind', 'latest', 'latest', 'v1.0.0'],
      ['behind', 'latest', 'latest', 'v1.0.0'],
      ['newer', 'v0.1.0', 'v0.1.0', 'v1.0.0'],
      ['newer', undefined, undefined, 'v1.0.0'],
      ['newer', 'v0.1.0', 'v0.1.0', 'v1.0.0'],
      ['behind', 'v0.1.1', 'v0.1.2', 'v1.0.0'],
    ]);
    expect(after.exitCode).toBe(1);
    expect(after.entries[5]).toMatchObject({ lockedAt: expect.stringMatching(/^app\/krmhub.lock:\d+$/) });
  });

  it('takes the releases of an image from the catalog that has its repository', async () => {
    await publish('Image', '1.0.0');
    await publish('Image', '2.0.0', (text) => text.replaceAll('labels:', 'marks:'));
    const digest = await push('image', 'v1.0.0');
    const repository = `${host}/image`;
    await pack.write({
      'app/Kptfile': kptfile(`  - image: ${repository}:v1.0.0@${digest}\n  - image: ${repository}:latest\n`),
    });
    await push('image', 'latest');
    await push('image', 'v9.0.0');
    const { entries, failures } = await report('app', '-c', place.catalogUrl());
    expect(failures).toEqual([]);
    expect(entries).toMatchObject([
      {
        state: 'newer',
        catalog: place.catalogUrl(),
        page: `${place.proxy.url}/functions/${GROUP}/Image`,
        locked: { release: '1.0.0', tag: 'v1.0.0', digest, publishedAt: expect.any(String) },
        newest: { release: '2.0.0', tag: 'v2.0.0', publishedAt: expect.any(String) },
        update: 'major',
        changes: ['breaking', 'new-field'],
      },
      { state: 'not-pinned', newest: { release: '2.0.0' } },
    ]);
  });

  it('reads all packages below a folder: of kustomize and kpt, images, and what only a lock file has', async () => {
    await push('fn/step', 'v1.0.0');
    const step = `  - image: ${host}/fn/step:v1.0.0\n`;
    const inline = `apiVersion: example.com/v1\nkind: Own\nmetadata:\n  name: own\n  annotations:\n    config.kubernetes.io/function: "container: {image: '${host}/fn/step:v1.0.0'}"\n`;
    await pack.write({
      'all/overlay/kustomization.yaml': `resources: [../base]\n${kustomization('labels.yaml')}`,
      'all/overlay/labels.yaml': config('SetLabels'),
      'all/base/kustomization.yaml': kustomization('names.yaml'),
      'all/base/names.yaml': config('SetNames'),
      'all/kpt/Kptfile': kptfile(step),
      'all/kpt/sub/Kptfile': kptfile(step),
      'all/plain/own.yaml': inline,
      'all/plain/deployment.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n',
      'all/program/kustomization.yaml': 'transformers: [own.yaml]\n',
      'all/program/own.yaml': `${config('Own')}  annotations:\n    config.kubernetes.io/function: "exec: {path: ./own}"\n`,
      'all/node_modules/a/Kptfile': kptfile(step),
      'all/.git/Kptfile': kptfile(step),
    });
    await lock('all/overlay');
    await pack.write({ 'all/overlay/kustomization.yaml': kustomization('labels.yaml') });
    const places = async (...args: string[]) => {
      const { entries, exitCode, programs } = await report('all', ...args, ...trust());
      const texts = entries.map(
        (one) => `${one.file}:${one.line} ${one.field} ${one.kind ?? ''} ${one.state}`,
      );
      return { places: texts.sort(), exitCode, programs };
    };
    expect(await places()).toMatchObject({ places: ['all/plain/own.yaml:1 files Own not-pinned'] });
    const all = [
      'all/base/names.yaml:1 transformers SetNames not-locked',
      'all/kpt/Kptfile:7 mutators ConfigMap not-pinned',
      'all/kpt/sub/Kptfile:7 mutators ConfigMap not-pinned',
      expect.stringMatching(/^all.overlay.krmhub.lock:\d+ lock SetNames current$/),
      'all/overlay/labels.yaml:1 transformers SetLabels current',
      'all/plain/own.yaml:1 files Own not-pinned',
    ];
    expect(await places('-r')).toEqual({ places: all, exitCode: 0, programs: 1 });
    // A base that a package is built on is listed there.
    await pack.write({
      'all/overlay/kustomization.yaml': `resources: [../base]\n${kustomization('labels.yaml')}`,
    });
    const [, ...others] = all;
    const built = [
      'all/base/names.yaml:1 transformers SetNames current',
      ...others.filter((one) => typeof one === 'string'),
    ];
    expect(await places('-r')).toMatchObject({ places: built });
    expectEnd(await run(['outdated', 'all', '-r', '--lock', 'a.lock']), 2, '--lock cannot be combined');
  });

  it('asks for 100 functions in one request, and for the tags of a repository once', async () => {
    const configs = Array.from({ length: 250 }, (_, index) => config(`Kind${index}`));
    const proxied = new URL(place.proxy.url).host;
    await push('fn/many', 'v1.0.0');
    const steps = Array.from({ length: 20 }, () => `  - image: ${proxied}/fn/many:v1.0.0\n`).join('');
    await pack.write({
      'app/kustomization.yaml': kustomization('many.yaml', 'labels.yaml'),
      'app/many.yaml': configs.join('---\n'),
      'app/labels.yaml': config('SetLabels'),
      'kpt/Kptfile': kptfile(steps),
    });
    const { entries, failures, exitCode } = await report('.', '-r', ...trust());
    expect([entries.length, exitCode, failures]).toEqual([271, 3, []]);
    const asked = place.paths();
    expect(asked.filter((one) => one.endsWith('/default/releases'))).toHaveLength(3);
    expect(asked.filter((one) => one.includes('/tags/list'))).toHaveLength(1);
    expect(asked.filter((one) => one.includes('/manifests/v1.0.0'))).toHaveLength(1);
  });

  it('says what is known of the rest where a range is too long to be asked for', async () => {
    const range = `~1.0 || ${'x'.repeat(2_000)}`;
    await pack.write({
      'a/kustomization.yaml': kustomization('labels.yaml'),
      'a/labels.yaml': config('SetLabels'),
      'b/kustomization.yaml': kustomization('names.yaml'),
      'b/names.yaml': config('SetNames'),
    });
    await lock('a');
    await lock('b');
    await pack.write({
      'b/names.yaml': config('SetNames', `  annotations: {krmhub.dev/release: "${range}"}\n`),
    });
    const { entries, failures } = await report('.', '-r', ...trust());
    expect(entries.map(({ kind, state }) => [kind, state === 'unknown'])).toEqual([
      ['SetLabels', false],
      ['SetNames', expect.anything()],
    ]);
    expect(failures).toEqual([]);
  });

  it('reports what cannot be asked, and says what is known of the rest', async () => {
    await pack.write({
      'app/kustomization.yaml': kustomization('labels.yaml'),
      'app/labels.yaml': config('SetLabels'),
      'other/kustomization.yaml': `catalogs: ["http://127.0.0.1:1/catalogs/default"]\ntransformers: [names.yaml]\n`,
      'other/names.yaml': config('SetNames'),
      'kpt/Kptfile': kptfile('  - image: 127.0.0.1:1/fn/gone:v1.0.0\n'),
    });
    const away = ['--trusted-catalog', 'http://127.0.0.1:1/catalogs/default'];
    const found = await report('.', '-r', ...trust(), ...away);
    expect(found.exitCode).toBe(5);
    expect(found.entries.map(({ file, state, newest }) => [file, state, newest?.release])).toEqual([
      ['app/labels.yaml', 'not-locked', expect.any(String)],
      ['kpt/Kptfile', 'not-pinned', undefined],
      ['other/names.yaml', 'unknown', undefined],
    ]);
    expect(found.failures.map(({ source, code }) => [source, code]).sort()).toEqual([
      ['127.0.0.1:1/fn/gone', 'unreachable'],
      ['http://127.0.0.1:1/catalogs/default', 'unreachable'],
    ]);
    await pack.write({
      'odd/kustomization.yaml': 'catalogs: ["ftp://a b"]\ntransformers: [labels.yaml]\n',
      'odd/labels.yaml': config('SetLabels'),
    });
    await lock('app');
    const text = await readFile(`${pack.folder}/app/krmhub.lock`, 'utf8');
    await pack.write({ 'odd/krmhub.lock': text.replaceAll(place.catalogUrl(), 'oci::bad') });
    const states = (await report('.', '-r', ...trust(), ...away)).entries.map(({ file, state }) => [
      file,
      state,
    ]);
    expect(states).toEqual([
      ['app/labels.yaml', 'current'],
      ['kpt/Kptfile', 'not-pinned'],
      ['odd/labels.yaml', 'unknown'],
      ['odd/krmhub.lock', 'unknown'],
      ['other/names.yaml', 'unknown'],
    ]);
    // What is not trusted is not asked for its releases.
    const refused = await report('app');
    expect(refused).toMatchObject({
      exitCode: 4,
      entries: [{ state: 'unknown' }],
      failures: [{ code: 'untrusted' }],
    });
    const io = await run(['outdated', '.', '-r', ...trust(), ...away]);
    expect(io.err()).toMatch(/^error: http:\/\/127.0.0.1:1\/catalogs\/default: /m);
    expect(io.out().split('\n')[0]).toMatch(/^app\/labels.yaml:1:1\ttransformers\t/);
  });

  it('does not trust what the registry of an image responds', async () => {
    const proxied = new URL(place.proxy.url).host;
    await push('fn/odd', 'v1.0.0');
    await pack.write({ 'app/Kptfile': kptfile(`  - image: ${proxied}/fn/odd:v1.0.0\n`) });
    for (const [body, state, newest] of [
      ['{', 'not-pinned', undefined],
      ['{"tags": ["a b", "\\u001b[31m"]}', 'not-pinned', undefined],
      ['{"tags": ["v9.0.0", "v99999999999999999999.0.0", "v1", "latest"]}', 'not-pinned', 'v9.0.0'],
      ['{"tags": null}', 'not-pinned', undefined],
    ] as const) {
      place.proxy.intercept = (request, response) => {
        if (request.url?.includes('/tags/list') !== true) return false;
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
        return true;
      };
      const { entries } = await report('app');
      expect(entries).toMatchObject([{ state }]);
      expect(entries[0]?.newest?.tag).toBe(newest);
    }
  });

  it('does not tell of a function that the user may not see', async () => {
    const group = 'hidden.example.com';
    const definition = new TextEncoder().encode(definitionText({ group, kind: 'Secret' }));
    const name = { group, kind: 'Secret', release: '1.0.0' };
    await place.client.publish({ ...name, definition, mediaType: 'application/yaml', wait: true });
    const access = `apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec: {groups: [{pattern: ${group}, visibility: private}]}\n`;
    await pack.write({
      'access.yaml': access,
      'app/kustomization.yaml': kustomization('secret.yaml'),
      'app/secret.yaml': config('Secret').replace(GROUP, group),
      'app/none.yaml': config('None').replace(GROUP, group),
    });
    await lock('app');
    await pack.write({ 'app/kustomization.yaml': kustomization('secret.yaml', 'none.yaml') });
    const admin = { env: { ...place.env(), ...place.registry.env } };
    expectEnd(await run(['access', 'apply', 'access.yaml', '--yes'], admin), 0);
    const [secret, none] = (await report('app', ...trust())).entries;
    expect(secret?.locked).toMatchObject({ release: '1.0.0' });
    expect([secret?.state, secret?.problem?.replaceAll('Secret', 'None')]).toEqual([
      'unknown',
      none?.problem,
    ]);
    expect(secret).not.toHaveProperty('newest');
    const env = { ...place.env(), KRMHUB_REGISTRY: place.proxy.url, KRMHUB_TOKEN: place.registry.token };
    const seen = await run(['outdated', 'app', ...trust(), '-o', 'json'], { env });
    expect(JSON.parse(seen.out()).entries[0]).toMatchObject({ newest: { release: '1.0.0' } });
  });

  it('is not misled or broken by what a registry responds', async () => {
    await pack.write({
      'app/kustomization.yaml': kustomization('labels.yaml'),
      'app/labels.yaml': config('SetLabels'),
    });
    await lock('app');
    const definition = (await report('app', ...trust())).entries[0]!.locked!.definition!;
    const release = (name: string, digest: string, more: object = {}) => ({
      release: name,
      digest,
      size: 1,
      versions: ['v1'],
      publishedAt: '2030-01-01T00:00:00.000Z',
      publishedBy: 'x',
      signature: { trusted: false, state: 'unsigned', text: 'unsigned' },
      served: [{ version: 'v1', first: 1 }],
      ...more,
    });
    const other = `sha256:${'e'.repeat(64)}`;
    const answer = (body: string) => {
      place.proxy.intercept = (request, response) => {
        if (request.url?.endsWith('/releases') !== true) return false;
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
        return true;
      };
      return report('app', '--check', ...trust());
    };
    const functions = (...releases: object[]) =>
      JSON.stringify({
        catalog: 'default',
        serial: 1,
        functions: [{ group: GROUP, kind: 'SetLabels', releases }],
      });
    for (const body of ['{', '[]', '{"functions": 1}', functions({ release: 1 }), '<html>']) {
      expect(await answer(body)).toMatchObject({ exitCode: 5, entries: [{ state: 'unknown' }] });
    }
    const yanked = { at: '2030-01-01T00:00:00.000Z', by: 'x', reason: 'a\u001b[31m\u202ered' };
    const found = await answer(
      functions(
        release('not a version', other),
        release('latest', other),
        release('1.0.0', definition, { yanked }),
      ),
    );
    expect(found.entries).toMatchObject([{ state: 'current', notices: [{ type: 'yanked' }] }]);
    const io = await run(['outdated', 'app', ...trust()], { tty: true });
    expect(io.err() + io.out()).not.toMatch(/\u001b\[31mred|\u202e/);
    // Another function than the one that was asked for.
    const misnamed = functions(release('9.0.0', other)).replace('"SetLabels"', '"Other"');
    expect(await answer(misnamed)).toMatchObject({
      exitCode: 3,
      entries: [{ state: 'unknown', locked: { definition } }],
    });
  });
});

describe('krmhub outdated without a registry', () => {
  const FILE = '../catalog.yaml';

  it('compares what is locked with what the catalog has now', async () => {
    const catalog = (release: string, more = '') =>
      `apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: file}\nspec:\n  krmFunctions:\n${definitionText(
        { group: GROUP, kind: 'Filed', release },
      )
        .slice(definitionText({ group: GROUP, kind: 'Filed', release }).indexOf('  group'))
        .replace(/^ {2}/, '  - ')
        .replace(/\n {2}/g, '\n    ')
        .replaceAll('registry.example.com', 'localhost:9')}${more}`;
    await pack.write({
      'catalog.yaml': catalog('1.0.0'),
      'app/kustomization.yaml': `catalogs: ["${FILE}"]\ntransformers: [filed.yaml]\n`,
      'app/filed.yaml': config('Filed'),
    });
    const trusted = ['--trusted-catalog', 'catalog.yaml'];
    const locked = await run(['lock', 'app', ...trusted]);
    expect(locked.exitCode, locked.err()).toBe(0);
    expect(await report('app', '--check', ...trusted)).toMatchObject({
      exitCode: 0,
      entries: [{ state: 'current' }],
    });
    await pack.write({ 'catalog.yaml': catalog('1.0.0').replaceAll('a'.repeat(64), 'b'.repeat(64)) });
    expect(await report('app', '--check', ...trusted)).toMatchObject({
      exitCode: 1,
      entries: [
        { state: 'behind', update: 'digest', problem: expect.stringContaining('schemas were not compared') },
      ],
    });
  });
});

describe('the table', () => {
  it('fits a terminal of 80 columns', async () => {
    await pack.write({
      'a/long/path/to/app/kustomization.yaml': kustomization('labels.yaml', 'team.yaml'),
      'a/long/path/to/app/labels.yaml': config('SetLabels'),
      'a/long/path/to/app/team.yaml': config('SetTeam'),
    });
    const io = await run(['outdated', 'a', '-r', ...trust()], {
      tty: true,
      env: { ...place.env(), NO_COLOR: '1' },
    });
    const lines = io.out().trimEnd().split('\n');
    expect(lines[0]).toMatch(/^WHERE +FUNCTION +LOCKED +WANTED +NEWEST +CHANGE +AGE$/);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines[2]).toMatch(/SetTeam +not locked +2.0.0 +2.0.0/);
    // The start of a long path is cut, and not its line.
    expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual([
      expect.stringMatching(/^….+\.yaml:1$/),
      expect.stringMatching(/^….+\.yaml:1$/),
    ]);
    expect(io.err()).toBe('2 not locked\n');
  });

  it('names the tags of an image in one spelling, also those that are releases of a catalog', async () => {
    const repository = `${host}/tabled`;
    const release = (tag: string) => publish('Tabled', tag);
    await release('1.0.0');
    const digest = await push('tabled', 'v1.0.0');
    await release('1.1.0');
    await pack.write({ 'app/Kptfile': kptfile(`  - image: ${repository}:v1.0.0@${digest}\n`) });
    const io = await run(['outdated', 'app', ...trust()], {
      tty: true,
      columns: 120,
      env: { ...place.env(), NO_COLOR: '1' },
    });
    expect(io.out()).toMatch(/v1\.0\.0 +v1\.\d\.0 +v1\.1\.0/);
    expect(io.out()).not.toMatch(/ 1\.\d\.0/);
  });
});
