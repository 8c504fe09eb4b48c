import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { definitionText } from '../testing/catalog-build.js';
import { fileRegistry, runTest, type TestIoOptions, temporaryFolder } from '../testing/command-line.js';

const SHA = 'ab'.repeat(32);
const CATALOG = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: theirs}
spec:
  krmFunctions:
  - group: banana.co
    names: {kind: Split}
    description: Splits resources.
    publisher: Banana
    versions:
    - name: v1
      schema: {openAPIV3Schema: {type: object}}
      idempotent: true
      license: Apache-2.0
      maintainers: [banana]
      runtime: {container: {image: banana.co/split:v1, sha256: ${SHA}, requireNetwork: true}}
    - name: v2
      schema: {openAPIV3Schema: {type: object}}
      idempotent: true
      license: Apache-2.0
      maintainers: [banana]
      runtime: {container: {image: "banana.co/split:v2"}}
  - group: banana.co
    names: {kind: Hidden}
    publisher: "Banana\\e[31m"
    versions: [{name: v1, runtime: {container: {image: "banana.co/hidden:v1"}}}]
`;

const root = temporaryFolder();
let folder: string;
const registry = fileRegistry();
let url: string;

beforeAll(async () => {
  url = `${registry.url}/catalogs/default`;
  const client = new RegistryClient(registry);
  const definition = new TextEncoder().encode(definitionText({ kind: 'SetLabels' }));
  const name = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
  await client.publish({ ...name, definition, mediaType: 'application/yaml', wait: true });
  const { keys } = await client.registryKeys();
  await writeFile(path.join(root, 'right.pub'), keys[0]!.publicKey);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  await writeFile(path.join(root, 'wrong.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(path.join(root, 'catalog.yaml'), CATALOG);
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(root, 'user-'));
});

const run = (args: string[], options: TestIoOptions = {}) =>
  runTest(args, { cwd: root, env: { ...registry.env, HOME: folder }, ...options });
const pin = (key: string) => run(['trust', 'add', url, '--key', path.join(root, `${key}.pub`)]);

describe('catalog show of another catalog', () => {
  it('lists what the functions of a file run and may touch', async () => {
    const io = await run(['catalog', 'show', './catalog.yaml']);
    expect(io.exitCode, io.err()).toBe(0);
    const rows = io
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(rows, io.err()).toEqual([
      [
        'banana.co/Split',
        'v1',
        'Banana',
        'container: requires network access, only its input',
        'pinned',
        `banana.co/split:v1@sha256:${SHA}`,
      ],
      [
        'banana.co/Split',
        'v2',
        'Banana',
        'container: no network access, only its input',
        'can move: banana.co/split:v2',
        'banana.co/split:v2',
      ],
    ]);
    expect(io.err()).toContain('1 function says it is published by Banana, 1 invalid\n');
    expect(io.err()).toContain('signature not verified: no key is pinned');
    expect(io.out() + io.err()).not.toContain('\u001b');
    const data = JSON.parse((await run(['catalog', 'show', './catalog.yaml', '-o', 'json'])).out());
    expect(data).toMatchObject({
      catalog: './catalog.yaml',
      verified: false,
      invalid: 1,
      functions: [{ kind: 'Split', versions: [{ unpinned: [] }, { unpinned: ['banana.co/split:v2'] }] }],
    });
  });

  it('cuts nothing on a terminal of 80 columns', async () => {
    const io = await run(['catalog', 'show', './catalog.yaml'], { tty: true, columns: 80 });
    expect(io.out()).toContain(
      `  owner      not verified: says it is published by Banana\n  may touch  container: requires network access, only its input\n  runs       banana.co/split:v1@sha256:${SHA}\n  pinned     yes\n`,
    );
    expect(io.out()).toContain('  pinned     no: can move: banana.co/split:v2\n');
    expect(io.out()).not.toContain('…');
  });

  it('says whether a pinned key signed a catalog at a URL', async () => {
    const unknown = await run(['catalog', 'show', url]);
    expect(unknown.exitCode, unknown.err()).toBe(0);
    expect(unknown.out()).toMatch(/^example\.com\/SetLabels\tv1\t/);
    expect(unknown.err()).toContain(`krmhub trust add ${url} --key FILE.pub`);
    expect((await pin('right')).exitCode).toBe(0);
    const known = await run(['catalog', 'show', url, '-o', 'json']);
    expect(JSON.parse(known.out())).toMatchObject({
      verified: true,
      signer: expect.stringMatching(/^key sha256:/),
    });
    expect((await run(['catalog', 'show', url])).err()).toMatch(
      /signature verified: signed by the pinned key sha256:/,
    );
  });

  it('is refused if a key is pinned and another one signed it', async () => {
    expect((await pin('wrong')).exitCode).toBe(0);
    const io = await run(['catalog', 'show', url]);
    expect([io.exitCode, io.out(), io.err()]).toEqual([4, '', expect.stringContaining('signed by the key')]);
  });

  it('reads a catalog in an OCI registry', async () => {
    const io = await run(['catalog', 'show', `oci://${new URL(url).host}/catalogs/default:latest`]);
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.out()).toMatch(/^example\.com\/SetLabels\tv1\t/);
  });

  it.each([
    ['./missing.yaml', 3],
    ['NOT A CATALOG', 2],
    ['nope', 3],
  ])('reports %s', async (target, exitCode) => {
    const io = await run(['catalog', 'show', target]);
    expect([io.exitCode, io.out()]).toEqual([exitCode, '']);
  });
});
