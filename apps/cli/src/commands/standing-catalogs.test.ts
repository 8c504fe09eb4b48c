import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CatalogServer, catalogServer, catalogText } from '../testing/catalog-build.js';
import { expectEnd, runTest, type TestIo } from '../testing/command-line.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';

/** Catalogs that commands use without options (KEP-2906, Stories 4 and 5). */

let server: CatalogServer;
let pack: TestPackage;
const url = (name: string) => `${server.origin}/${name}.yaml`;

beforeAll(async () => {
  server = await catalogServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  server.served.set('/official.yaml', catalogText('example.com', ['JavaApplication', 'Logger']));
  server.served.set('/other.yaml', catalogText('example.com', ['Logger', 'SecretSidecar']));
  pack = await testPackage({
    'app/composition.yaml': `kind: Composition
modules:
- apiVersion: example.com/v1
  kind: JavaApplication
  metadata: {name: java}
- apiVersion: example.com/v1
  kind: Logger
  metadata: {name: logger}
`,
    'named/logger.yaml': config('Logger'),
    'named/kustomization.yaml': `catalogs: ["${url('other')}"]\ntransformers: [logger.yaml]\n`,
  });
});
afterEach(() => pack.remove());

const run = (args: string[], env: Record<string, string> = {}): Promise<TestIo> =>
  runTest(args, {
    cwd: pack.folder,
    env: { HOME: pack.folder, KRMHUB_CACHE: path.join(pack.folder, '.cache'), ...env },
  });
const resolve = (kind: string, env?: Record<string, string>, ...args: string[]) =>
  run(['resolve', 'example.com/v1', kind, ...args, '-o', 'json'], env);
const trustedBy = (io: TestIo) => JSON.parse(io.out()).catalog?.trustedBy;
const trustFile = (spec: string) =>
  pack.write({
    'trust.yaml': `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogTrust\nmetadata: {name: example-co}\nspec:\n${spec}`,
  });
const withFile = () => ({ KRMHUB_TRUST: path.join(pack.folder, 'trust.yaml') });

describe('the official catalog', () => {
  it('of the environment is searched and trusted without an option', async () => {
    const env = { KRMHUB_OFFICIAL_CATALOG: url('official') };
    expect((await run(['explain', 'app'])).exitCode).toBe(3);
    const io = await run(['explain', 'app'], env);
    expect([io.exitCode, io.out()]).toEqual([
      0,
      expect.stringContaining('trusted by KRMHUB_OFFICIAL_CATALOG'),
    ]);
    expect((await run(['lock', 'app'], env)).exitCode).toBe(0);
  });

  it('of the trust file is searched and trusted without an option', async () => {
    await trustFile(`  official: ${url('official')}\n`);
    expect(trustedBy(await resolve('Logger', withFile()))).toBe('the trust file');
  });

  it('of an option comes before that of the environment, which comes before that of the trust file', async () => {
    await trustFile(`  official: ${url('absent')}\n`);
    const env = { ...withFile(), KRMHUB_OFFICIAL_CATALOG: url('official') };
    expect(trustedBy(await resolve('Logger', env))).toBe('KRMHUB_OFFICIAL_CATALOG');
    expect(trustedBy(await resolve('SecretSidecar', env, '--official', url('other')))).toBe('--official');
  });

  it('is searched before the catalogs that a kustomization names', async () => {
    const io = await run(['explain', 'named', '-o', 'json'], { KRMHUB_OFFICIAL_CATALOG: url('official') });
    expect([io.exitCode, io.out()]).toEqual([0, expect.stringContaining('/official.yaml')]);
  });

  it('is a usage error if the environment has a relative path, also of a file that exists', async () => {
    await pack.write({ 'catalog.yaml': catalogText('example.com', ['Logger']) });
    const io = await resolve('Logger', { KRMHUB_OFFICIAL_CATALOG: './catalog.yaml' });
    expectEnd(io, 2, 'KRMHUB_OFFICIAL_CATALOG is a relative');
    const file = path.join(pack.folder, 'catalog.yaml');
    expect((await resolve('Logger', { KRMHUB_OFFICIAL_CATALOG: file })).exitCode).toBe(0);
  });
});

describe('the catalogs of the trust file', () => {
  it('are trusted where a kustomization names them, and are not searched otherwise', async () => {
    expect((await run(['explain', 'named'])).exitCode).toBe(4);
    await trustFile(`  catalogs: ["${url('other')}"]\n`);
    const io = await run(['explain', 'named'], withFile());
    expect([io.exitCode, io.out()]).toEqual([0, expect.stringContaining('trusted by the trust file')]);
    expect((await resolve('Logger', withFile())).exitCode).not.toBe(0);
  });

  it('with a digest are trusted only with this content', async () => {
    await trustFile(`  catalogs: ["${url('other')}@sha256:${'a'.repeat(64)}"]\n`);
    expectEnd(await run(['explain', 'named'], withFile()), 4, 'the trust file trusts only sha256:aaaa');
  });

  it('are listed, and can be added from a file and removed', async () => {
    await trustFile(`  official: ${url('official')}\n  catalogs: ["${url('other')}"]\n`);
    expect((await run(['trust', 'add', 'trust.yaml'])).exitCode).toBe(0);
    const list = await run(['trust', 'list']);
    expect(list.out()).toContain(`official catalog ${url('official')}`);
    expect(list.out()).toContain(`catalog ${url('other')} without a signature`);
    expect((await run(['explain', 'named'])).exitCode).toBe(0);
    expect((await run(['trust', 'remove', 'example-co'])).exitCode).toBe(0);
    expect((await run(['explain', 'named'])).exitCode).toBe(4);
  });

  it('stop every command while the file cannot be read', async () => {
    await trustFile('  catalogs: ./catalog.yaml\n');
    expect((await run(['explain', 'app'], withFile())).exitCode).toBe(4);
  });
});
