import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { PROFILES } from '@krmhub/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CatalogServer, catalogServer, definitionText } from '../testing/catalog-build.js';
import { expectEnd, fileRegistry, runTest, type TestIo, temporaryFolder } from '../testing/command-line.js';

/** Every command that reads a catalog, against a registry whose key is pinned, wrongly pinned, or not pinned. */

const NOT_VERIFIED = 'not verified: no key is pinned for this catalog';

const root = temporaryFolder();
let folder: string;
const registry = fileRegistry();
let client: RegistryClient;
let host: string;
let mirror: CatalogServer;
/** Serial of the newest snapshot; there are older ones. */
let newest: number;

beforeAll(async () => {
  client = new RegistryClient(registry);
  host = new URL(registry.url).host;
  mirror = await catalogServer();
  for (const kind of ['SetLabels', 'SetNames', 'SetOwners']) {
    const group = 'functions.example.com';
    const definition = new TextEncoder().encode(definitionText({ group, kind }));
    const release = { group, kind, release: '1.0.0', definition };
    await client.publish({ ...release, mediaType: 'application/yaml', wait: true });
  }
  newest = (await client.catalog('default')).newest!.serial;
  expect(newest).toBeGreaterThan(2);
  const { keys } = await client.registryKeys();
  await writeFile(path.join(root, 'right.pub'), keys[0]!.publicKey);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  await writeFile(path.join(root, 'wrong.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
});
afterAll(async () => {
  mirror.close();
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(root, 'user-'));
  mirror.served.clear();
});

const run = (...args: string[]): Promise<TestIo> =>
  runTest(args, { cwd: folder, env: { ...registry.env, HOME: folder } });

async function pin(key: 'right' | 'wrong', url = `${registry.url}/catalogs/default`): Promise<void> {
  expectEnd(await run('trust', 'add', url, '--key', path.join(root, `${key}.pub`)), 0);
}

const exists = (name: string) =>
  stat(path.join(folder, name)).then(
    () => true,
    () => false,
  );

async function recipe(url: string): Promise<void> {
  await writeFile(
    path.join(folder, 'recipe.yaml'),
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: theirs, catalog: {url: '${url}'}}]}
`,
  );
}

/** Ways to read the catalog, each with the file that it writes, if any. */
const READS: [string, () => Promise<string[]>][] = [
  ...(['Catalog', 'KRMFunctionCatalog'] as const).flatMap((kind) =>
    (['yaml', 'json'] as const).map((format): [string, () => Promise<string[]>] => [
      `catalog pull as ${kind} in ${format}`,
      async () => ['catalog', 'pull', 'default', '--kind', kind, '--format', format, '--out', 'out'],
    ]),
  ),
  ...PROFILES.map((profile): [string, () => Promise<string[]>] => [
    `catalog pull in the profile ${profile}`,
    async () => ['catalog', 'pull', 'default', '--profile', profile, '--losses', 'out', '--out', 'out'],
  ]),
  [
    'catalog pull by a serial',
    async () => ['catalog', 'pull', 'default', '--snapshot', `${newest}`, '--profile', 'kep', '--out', 'out'],
  ],
  [
    'catalog pull by a digest',
    async () => {
      const { digest } = (await client.catalog('default')).newest!;
      return ['catalog', 'pull', 'default', '--snapshot', digest, '--out', 'out'];
    },
  ],
  ['pull over OCI', async () => ['pull', `${host}/catalogs/default:latest`, '--out', 'out']],
  ['pull of a serial over OCI', async () => ['pull', `${host}/catalogs/default:${newest}`, '--out', 'out']],
  ['copy', async () => ['copy', `${host}/catalogs/default:latest`, `${host}/team/copied:1`]],
  ['catalog diff', async () => ['catalog', 'diff', 'default']],
  ['catalog inputs', async () => ['catalog', 'inputs', 'default', '--out', 'out']],
  [
    'catalog diff over OCI',
    async () => {
      const name = `oci://${host}/catalogs/default:latest`;
      return ['catalog', 'diff', name, name];
    },
  ],
  [
    'convert over OCI',
    async () => ['convert', `oci://${host}/catalogs/default:${newest}`, '--to', 'porch', '--out', 'out'],
  ],
  [
    'a source over HTTP',
    async () => {
      await recipe(`${registry.url}/catalogs/default/catalog.yaml`);
      return ['catalog', 'build', 'recipe.yaml', '--out', 'out'];
    },
  ],
  [
    'a source over HTTP in a profile',
    async () => {
      await recipe(`${registry.url}/catalogs/default/catalog.yaml?profile=kep`);
      return ['catalog', 'build', 'recipe.yaml', '--out', 'out'];
    },
  ],
  [
    'a source over OCI',
    async () => {
      await recipe(`oci://${host}/catalogs/default:latest`);
      return ['catalog', 'build', 'recipe.yaml', '--out', 'out'];
    },
  ],
];

describe('a pinned catalog', () => {
  it.each(READS)('is refused with exit code 4 if another key signed it: %s', async (_, args) => {
    await pin('wrong');
    const io = await run(...(await args()));
    expectEnd(io, 4, 'signed by the key sha256:');
    expect([await exists('out'), io.out()]).toEqual([false, '']);
  });

  it.each(READS)('is read if its key signed it: %s', async (_, args) => {
    await pin('right');
    const io = await run(...(await args()));
    expectEnd(io, 0, `verified snapshot ${newest} of `);
    expect(io.err()).not.toContain('not verified');
  });

  it.each(READS.filter(([name]) => name !== 'copy'))(
    'says that it is not verified without a pin: %s',
    async (_, args) => {
      expectEnd(await run(...(await args())), 0, NOT_VERIFIED);
    },
  );

  it('satisfies --require-trust', async () => {
    const pull = () => run('pull', `${host}/catalogs/default:latest`, '--require-trust', '-o', 'json');
    expectEnd(await pull(), 4, 'no key is pinned');
    await pin('right');
    const io = await pull();
    expect([io.exitCode, JSON.parse(io.out()).verification]).toMatchObject([
      0,
      { trusted: true, signer: { type: 'key' }, catalog: 'default', serial: newest },
    ]);
  });

  it('is refused as one entry, which no signature covers', async () => {
    await pin('right');
    await recipe(`${registry.url}/catalogs/default/functions/functions.example.com/SetLabels.yaml`);
    const io = await run('catalog', 'build', 'recipe.yaml', '--out', 'out');
    expect([io.exitCode, await exists('out')]).toEqual([4, false]);
  });

  it('is refused over OCI if its signature was not copied, or the tag names another snapshot', async () => {
    await run(
      'copy',
      `${host}/catalogs/default:${newest - 1}`,
      `${host}/team/mirror:${newest}`,
      '--no-referrers',
    );
    await pin('right', `https://${host}/team/mirror`);
    expectEnd(await run('pull', `${host}/team/mirror:${newest}`, '--out', 'out'), 4, 'it has no signature');
    await run('copy', `${host}/catalogs/default:${newest - 1}`, `${host}/team/mirror:${newest}`);
    expectEnd(await run('pull', `${host}/team/mirror:${newest}`, '--out', 'out'), 4, `expected ${newest}`);
    expect(await exists('out')).toBe(false);
  });
});

describe('a pin of a URL without a catalog name', () => {
  const mirrored = () => `https://${host}/team/mirrors`;
  const add = (...options: string[]) =>
    run('trust', 'add', mirrored(), '--key', path.join(root, 'right.pub'), ...options);
  const served = () => `${host}/team/mirrors:latest`;

  beforeAll(async () => {
    // The same registry signs this catalog too, with the same key.
    const file = path.join(root, 'other.yaml');
    await writeFile(
      file,
      'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: other}\nspec: {sources: [{name: all, functions: {}}]}\n',
    );
    expectEnd(await runTest(['catalog', 'apply', file], { cwd: root, env: registry.env }), 0);
    const copied = await runTest(['copy', `${host}/catalogs/other:latest`, served()], {
      cwd: root,
      env: registry.env,
    });
    expect(copied.exitCode, copied.err()).toBe(0);
  });

  it('refuses another catalog of the same key if it names the catalog', async () => {
    expect((await add('--catalog', 'default')).err()).not.toContain('warning');
    for (const args of [
      ['pull', served(), '--out', 'out'],
      ['verify', served()],
      ['catalog', 'diff', `oci://${served()}`, `oci://${served()}`],
    ]) {
      expectEnd(await run(...args), 4, 'signature of other, expected default');
    }
    expect(await exists('out')).toBe(false);
    expect((await add('--catalog', 'other', '--replace')).err()).toContain('+ signed as catalog other');
    expect((await run('pull', served(), '--out', 'out')).exitCode).toBe(0);
    expect((await run('trust', 'list')).out()).toContain('/team/mirrors as other');
  });

  it('refuses another catalog as a source over HTTP', async () => {
    for (const name of ['snapshot.sigstore.json', 'snapshot.json', 'catalog.yaml']) {
      const answer = await fetch(`${registry.url}/catalogs/other/${name}`);
      mirror.served.set(`/krm/${name}`, new Uint8Array(await answer.arrayBuffer()));
    }
    await recipe(`${mirror.origin}/krm/catalog.yaml`);
    const build = () => run('catalog', 'build', 'recipe.yaml', '--out', 'out');
    const key = ['--key', path.join(root, 'right.pub')];
    await run('trust', 'add', `${mirror.origin}/krm`, '--catalog', 'default', ...key);
    expectEnd(await build(), 4, 'expected default');
    await run('trust', 'add', `${mirror.origin}/krm`, '--catalog', 'other', '--replace', ...key);
    expectEnd(await build(), 0, '/krm/catalog.yaml as catalog other: signed by');
  });

  it('warns if it does not, and prints of which catalog the snapshot is', async () => {
    const added = await add();
    expect(added.err()).toContain('krmhub accepts every catalog that the key signs');
    expect(added.err()).toContain('--catalog default');
    const io = await run('pull', served(), '--out', 'out');
    expectEnd(io, 0, `${served()} as catalog other: signed by the key sha256:`);
    expect(io.err()).toContain('accepts every catalog that its key signs');
  });

  it('may give another name than the address has', async () => {
    const url = `${registry.url}/catalogs/default`;
    await run('trust', 'add', url, '--catalog', 'other', '--key', path.join(root, 'right.pub'));
    for (const args of [
      ['catalog', 'verify', 'default'],
      ['catalog', 'pull', 'default', '--out', 'out'],
    ]) {
      expectEnd(await run(...args), 4, 'signature of default, expected other');
    }
  });

  it('cannot name a catalog in a policy', async () => {
    const io = await run(
      'trust',
      'add',
      'x',
      '--group',
      'a.b',
      '--catalog',
      'y',
      '--key',
      path.join(root, 'right.pub'),
    );
    expectEnd(io, 2, '--catalog is only for catalog URLs');
  });
});

describe('verify', () => {
  const reference = () => `${host}/catalogs/default:latest`;

  it('verifies a catalog over OCI by its pinned key, also beside policies', async () => {
    await run('trust', 'add', 'team', '--group', 'a.b', '--key', path.join(root, 'wrong.pub'));
    await pin('right');
    const io = await run('verify', reference(), '-o', 'json');
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err()).toContain(`verified snapshot ${newest} of ${reference()} as catalog default: signed by`);
    expect(JSON.parse(io.out())).toMatchObject({ verified: true, catalog: 'default', serial: newest });
  });

  it('refuses a catalog over OCI that another key signed', async () => {
    await pin('wrong');
    const io = await run('verify', reference(), '-o', 'json');
    expectEnd(io, 4, 'signed by the key sha256:');
    expect(JSON.parse(io.out())).toMatchObject({ verified: false });
  });

  it('needs a signer for a catalog that is not pinned', async () => {
    const io = await run('verify', reference());
    expect([io.exitCode, io.out()]).toEqual([2, '']);
  });
});

describe('a file with its bundle', () => {
  beforeEach(async () => {
    await mkdir(path.join(folder, 'vendored'));
    const io = await run(
      ...['catalog', 'verify', 'default', '--key', path.join(root, 'right.pub'), '--out', 'vendored'],
    );
    expect(io.exitCode, io.err()).toBe(0);
    await recipe('file:vendored/catalog.yaml');
  });
  const build = () => run('catalog', 'build', 'recipe.yaml', '--out', 'out');

  it('is verified if a pinned key signed it, and refused if it was changed', async () => {
    expect((await build()).err()).toContain(NOT_VERIFIED);
    await pin('right');
    expectEnd(await build(), 0, `verified snapshot ${newest} of `);
    await rm(path.join(folder, 'out'));
    const file = path.join(folder, 'vendored/catalog.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace('SetLabels', 'SetLabelz'));
    expectEnd(await build(), 4, 'does not cover');
    expect(await exists('out')).toBe(false);
  });
});

describe('the memory of verified snapshots', () => {
  it('refuses the inputs of an older snapshot than the one that was verified', async () => {
    await pin('right');
    expect((await run('catalog', 'pull', 'default', '--out', 'new')).exitCode).toBe(0);
    const file = path.join(folder, '.config/krmhub/seen-catalogs.json');
    const seen = JSON.parse(await readFile(file, 'utf8'));
    for (const one of Object.values<{ serial: number }>(seen.catalogs)) one.serial += 1;
    await writeFile(file, JSON.stringify(seen));
    const io = await run('catalog', 'inputs', 'default', '--out', 'out');
    expectEnd(io, 4, `serves snapshot ${newest} as the newest, but snapshot ${newest + 1} was`);
    expect(await exists('out')).toBe(false);
  });

  it('refuses an older snapshot at another address: it is kept by key and name', async () => {
    await pin('right');
    expect((await run('catalog', 'pull', 'default', '--out', 'new')).exitCode).toBe(0);
    for (const name of ['snapshot.sigstore.json', 'snapshot.json', 'catalog.yaml']) {
      const answer = await fetch(`${registry.url}/catalogs/default/snapshots/${newest - 1}/${name}`);
      const body = new Uint8Array(await answer.arrayBuffer());
      mirror.served.set(`/catalogs/default/snapshots/${newest - 1}/${name}`, body);
      mirror.served.set(`/catalogs/default/${name}`, body);
    }
    await pin('right', `${mirror.origin}/catalogs/default`);
    const io = await run('catalog', 'verify', `${mirror.origin}/catalogs/default`);
    expectEnd(io, 4, `serves snapshot ${newest - 1} as the newest, but snapshot ${newest} was verified`);
    await recipe(`${mirror.origin}/catalogs/default/catalog.yaml`);
    expect((await run('catalog', 'build', 'recipe.yaml', '--out', 'out')).exitCode).toBe(4);
    expect(await exists('out')).toBe(false);
  });
});
