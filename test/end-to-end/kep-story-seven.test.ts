import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { FunctionDefinition, SnapshotReport } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { functionDefinition, functionVersion } from '@krmhub/schema/testing/functions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gitServer } from '../../packages/sources/src/testing/servers.js';
import { commitFiles } from '../commit-files.js';
import { krmhubHere } from '../run-here.js';
import { type Finished, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/**
 * KEP-2906, Story 7: a platform team publishes one trusted catalog of its own functions and of those of
 * three vendors. Banana Co serves a signed catalog over HTTP, Watermelon Co has one in git, Cherry Co one
 * in an OCI registry.
 */

const { folder, remove } = temporaryFolder();
const home = path.join(folder, 'home');
let banana: RunningRegistry;
let cherry: RunningRegistry;
let org: RunningRegistry;
let git: Awaited<ReturnType<typeof gitServer>>;

const DIGEST = 'a'.repeat(64);
interface Options {
  image?: string;
  sha256?: string | undefined;
  license?: string;
  network?: boolean;
  description?: string;
  versions?: string[];
}

/** A catalog entry; its JSON is YAML. */
function fn(group: string, kind: string, options: Options = {}): FunctionDefinition {
  const { image = `${group.split('.')[0]}.gcr.io/functions/${kind.toLowerCase()}:v1.0.0` } = options;
  const { license = 'Apache-2.0', network, description = `What ${kind} does`, versions = ['v1'] } = options;
  const sha256 = 'sha256' in options ? options.sha256 : DIGEST;
  const runtime = { container: { image, ...defined({ sha256, requireNetwork: network }) } };
  return functionDefinition({
    group,
    names: { kind },
    description,
    publisher: `The people of ${group}`,
    tags: ['mutator', kind.toLowerCase()],
    versions: versions.map((name) => functionVersion(name, { license, runtime })),
  });
}
const document = (kind: string, spec: unknown) =>
  JSON.stringify({
    apiVersion: 'config.kubernetes.io/v1alpha1',
    kind,
    ...(kind === 'Catalog' ? { metadata: { name: 'vendor' } } : {}),
    spec,
  });
const catalogOf = (...krmFunctions: unknown[]) => document('Catalog', { krmFunctions });

const run = (registry: RunningRegistry, ...args: string[]): Promise<Finished> =>
  krmhubHere(args, { cwd: home, env: registry.env });
async function done(finished: Promise<Finished>): Promise<string> {
  const { code, stdout, stderr } = await finished;
  if (code !== 0) throw new Error(`it ended with ${code}: ${stderr}`);
  return stdout;
}
async function publish(registry: RunningRegistry, release: string, spec: FunctionDefinition): Promise<void> {
  const { kind } = spec.names;
  const file = path.join(home, `${kind}-${release}.json`);
  writeFileSync(file, document('KRMFunctionDefinition', spec));
  await done(run(registry, 'publish', file, '--release', release, '--allow-breaking'));
}

const recipe = (bananaKey: string) => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata:
  name: platform
  labels: {team: platform}
spec:
  sources:
  - name: ours
    functions: {release: ">=1.0.0"}
    match: [{group: example.com}]
  - name: banana
    catalog: {url: ${banana.url}/catalogs/default/catalog.yaml, refresh: 1h}
    match: [{group: banana.co}]
    rewrite: [{from: banana.gcr.io/, to: mirror.example.com/banana/}]
  - name: watermelon
    catalog: {url: "git::${git.origin}/catalogs.git//fruit/catalog.yaml?ref=main", refresh: 1h}
    exclude: [{kind: Experimental}]
  - name: cherry
    catalog: {url: "oci://${new URL(cherry.url).host}/vendors/cherry:v1", refresh: 30m}
  policy:
    requireSignature:
    - groups: ["banana.co"]
      key: ${bananaKey}
    requireDigest: true
    allowNetwork: false
    licenses: [Apache-2.0, MIT]
    deny:
    - {group: cherry.co, kind: Pit, reason: breaks teeth}
`;

beforeAll(async () => {
  mkdirSync(home);
  banana = await startRegistry(path.join(folder, 'banana'));
  cherry = await startRegistry(path.join(folder, 'cherry'));
  org = await startRegistry(path.join(folder, 'org'), { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
  const repositories = path.join(folder, 'git');
  git = await gitServer(repositories);

  await publish(banana, '1.0.0', fn('banana.co', 'Split'));
  await publish(banana, '1.0.0', fn('banana.co', 'Ripen', { network: true }));
  await publish(banana, '1.0.0', fn('example.com', 'Typosquat'));

  const { publisher: _, ...anonymous } = fn('watermelon.co', 'Anonymous');
  mkdirSync(repositories, { recursive: true });
  commitFiles(repositories, 'catalogs', {
    'fruit/catalog.yaml': catalogOf(
      fn('watermelon.co', 'Salt'),
      fn('watermelon.co', 'Seeds', { sha256: undefined }),
      fn('watermelon.co', 'Rind', { license: 'GPL-3.0-only' }),
      fn('watermelon.co', 'Experimental'),
      anonymous,
      fn('banana.co', 'Split', { description: 'Not the one of Banana Co' }),
      fn('fruit.example', 'Juice', { description: 'as Watermelon Co makes it' }),
    ),
  });

  const cherries = path.join(home, 'cherries.yaml');
  writeFileSync(
    cherries,
    catalogOf(
      fn('cherry.co', 'Pit'),
      fn('cherry.co', 'Stem'),
      fn('fruit.example', 'Juice', { description: 'as Cherry Co makes it', versions: ['v1', 'v2'] }),
    ),
  );
  await done(run(cherry, 'push', cherries, `${new URL(cherry.url).host}/vendors/cherry:v1`));

  await publish(
    org,
    '1.0.0',
    fn('example.com', 'JavaApplication', { image: 'docker.example.co/java:v1.0.0' }),
  );
  await publish(
    org,
    '1.1.0',
    fn('example.com', 'JavaApplication', { image: 'docker.example.co/java:v1.1.0' }),
  );
  await publish(org, '0.9.0', fn('example.com', 'Draft', { image: 'docker.example.co/draft:v0.9.0' }));
  await done(run(org, 'yank', 'example.com/JavaApplication@1.1.0', '--reason', 'loses labels'));

  const { keys } = (await (await fetch(`${banana.url}/.well-known/krmhub-keys.json`)).json()) as {
    keys: { publicKey: string }[];
  };
  writeFileSync(path.join(home, 'banana.pub'), keys[0]!.publicKey);
  writeFileSync(path.join(home, 'recipe.yaml'), recipe('banana.pub'));
  await done(run(org, 'catalog', 'apply', 'recipe.yaml'));
});
afterAll(async () => {
  await Promise.all([banana?.stop(), cherry?.stop(), org?.stop()]);
  await git?.close();
  remove();
});

const json = async <T>(url: string): Promise<T> => (await (await fetch(url)).json()) as T;
const snapshot = (name: string, serial = 1) => `${org.url}/catalogs/platform/snapshots/${serial}/${name}`;

describe('one catalog of four sources', () => {
  it('contains the entries of each source that the policy allows', async () => {
    const { spec } = await json<{ spec: { krmFunctions: Record<string, unknown>[] } }>(
      snapshot('catalog.json'),
    );
    expect(
      spec.krmFunctions.map(({ group, names }) => `${group}/${(names as { kind: string }).kind}`),
    ).toEqual([
      'banana.co/Split',
      'cherry.co/Stem',
      'example.com/JavaApplication',
      'fruit.example/Juice',
      'watermelon.co/Salt',
    ]);
    const [split, , java, juice] = spec.krmFunctions;
    expect(split).toMatchObject({
      versions: [
        {
          runtime: {
            container: { image: 'mirror.example.com/banana/functions/split:v1.0.0', sha256: DIGEST },
          },
        },
      ],
    });
    expect(java).toMatchObject({
      versions: [{ runtime: { container: { image: 'docker.example.co/java:v1.0.0' } } }],
    });
    // v1 comes from the first source, and v2 from the second one because only that has it.
    expect(juice).toMatchObject({
      description: 'as Watermelon Co makes it',
      versions: [{ name: 'v2' }, { name: 'v1' }],
    });
  });

  it('names source, release, definition and signer of each entry', async () => {
    const { entries } = await json<{ entries: { kind: string; versions: Record<string, unknown>[] }[] }>(
      snapshot('snapshot.json'),
    );
    const versions = Object.fromEntries(entries.map(({ kind, versions }) => [kind, versions]));
    const definition = expect.stringMatching(/^sha256:[a-f0-9]{64}$/);
    expect(versions).toEqual({
      Split: [
        {
          name: 'v1',
          source: 'banana',
          definition,
          signedBy: expect.stringMatching(/^the key sha256:/),
          rewritten: true,
        },
      ],
      Stem: [{ name: 'v1', source: 'cherry', definition }],
      JavaApplication: [{ name: 'v1', source: 'ours', release: '1.0.0', definition }],
      Juice: [
        { name: 'v2', source: 'cherry', definition },
        { name: 'v1', source: 'watermelon', definition },
      ],
      Salt: [{ name: 'v1', source: 'watermelon', definition }],
    });
  });

  it('reports every rejected entry, line by line', async () => {
    const report = await json<SnapshotReport>(snapshot('report.json'));
    expect(report.sources).toMatchObject([
      { source: 'banana', url: `${banana.url}/catalogs/default/catalog.yaml`, invalidEntries: 0 },
      {
        source: 'watermelon',
        url: `git::${git.origin}/catalogs.git//fruit/catalog.yaml?ref=main`,
        invalid: [{ entry: 4, group: 'watermelon.co', kind: 'Anonymous' }],
      },
      { source: 'cherry', url: `oci://${new URL(cherry.url).host}/vendors/cherry:v1`, invalidEntries: 0 },
    ]);
    expect(report.shadowed).toEqual([
      {
        group: 'fruit.example',
        kind: 'Juice',
        version: 'v1',
        source: 'cherry',
        by: { source: 'watermelon' },
      },
    ]);
    const refused = (report.refused ?? []).map(({ group, kind, source, release, reasons }) => [
      `${group}/${kind}`,
      source,
      release,
      ...reasons.map(({ code, message }) => `${code}: ${message}`),
    ]);
    expect(refused).toEqual([
      ['banana.co/Ripen', 'banana', undefined, 'network: it requires network access'],
      [
        'banana.co/Split',
        'watermelon',
        undefined,
        'claim: the group banana.co belongs to the source banana, which lists it',
        expect.stringMatching(
          /^signature: it is not signed, but the policy .* requires a signature by the key sha256:/,
        ),
      ],
      ['cherry.co/Pit', 'cherry', undefined, 'denied: the recipe denies it: breaks teeth'],
      ['watermelon.co/Rind', 'watermelon', undefined, 'license: its license GPL-3.0-only is not allowed'],
      [
        'watermelon.co/Seeds',
        'watermelon',
        undefined,
        'digest: not pinned by digest: watermelon.gcr.io/functions/seeds:v1.0.0',
      ],
    ]);
    expect(report.yanked).toEqual([
      { group: 'example.com', kind: 'JavaApplication', release: '1.1.0', source: 'ours' },
    ]);
  });

  it('is shown by the commands of a platform engineer', async () => {
    const report = await done(run(org, 'catalog', 'report', 'platform', '-o', 'json'));
    expect(JSON.parse(report)).toMatchObject(await json<object>(snapshot('report.json')));
    const sources = JSON.parse(await done(run(org, 'source', 'list', 'platform', '-o', 'json')));
    expect(
      sources.sources.map(
        ({ source, state, copy }: { source: string; state: string; copy: { entries: number } }) => [
          source,
          state,
          copy.entries,
        ],
      ),
    ).toEqual([
      ['banana', 'current', 3],
      ['cherry', 'current', 3],
      ['watermelon', 'current', 6],
    ]);
    const found = JSON.parse(await done(run(org, 'search', '--tag', 'salt', '-o', 'json')));
    expect(found).toMatchObject({
      total: 1,
      items: [
        { group: 'watermelon.co', kind: 'Salt', from: [{ catalog: 'platform', source: 'watermelon' }] },
      ],
    });
    const shown = await done(run(org, 'show', 'watermelon.co/Salt'));
    // The image of an upstream has a tag; the release is not known.
    expect(shown).toMatch(
      /^watermelon\.co\/Salt {2}image v1\.0\.0 {2}\(from watermelon in the catalog platform\)\n/,
    );
  });
});

describe('upstream changes', () => {
  it('arrive with the next poll, are classified, and build nothing if nothing changed', async () => {
    await done(run(org, 'source', 'refresh', 'platform'));
    const before = await json<{ newest: { serial: number } }>(`${org.url}/api/v1/catalogs/platform`);
    expect(before.newest.serial).toBe(1);
    await done(run(banana, 'yank', 'banana.co/Split@1.0.0', '--reason', 'peels wrongly'));
    const upstream = async () => (await fetch(`${banana.url}/catalogs/default/catalog.yaml`)).text();
    await expect.poll(upstream).not.toContain('Split');
    const refreshed = async () => {
      await done(run(org, 'source', 'refresh', 'platform', 'banana'));
      const { newest } = await json<{ newest: { serial: number } }>(`${org.url}/api/v1/catalogs/platform`);
      return newest.serial;
    };
    // The upstream may have a process that shows it some milliseconds later.
    await expect.poll(refreshed).toBe(2);
    await done(run(org, 'catalog', 'show', 'platform'));
    const { entries } = await json<{ entries: { kind: string }[] }>(snapshot('snapshot.json', 2));
    expect(entries.map(({ kind }) => kind)).not.toContain('Split');
    const diff = await run(org, 'catalog', 'diff', 'platform', '1', '2', '-o', 'json');
    expect([diff.code, diff.stdout]).toEqual([1, expect.stringContaining('function-removed')]);
    // Old snapshots are served unchanged.
    expect((await fetch(snapshot('catalog.yaml', 1))).status).toBe(200);
  });
});
