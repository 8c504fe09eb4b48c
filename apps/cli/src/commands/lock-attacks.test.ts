import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { catalogText, definitionText } from '../testing/catalog-build.js';
import { fileRegistry, runTest, type TestIo } from '../testing/command-line.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';

/** A lock file that an attacker changed must not choose what runs where its catalog is trusted. */

let pack: TestPackage;
afterEach(() => pack.remove());

const run = (...args: string[]): Promise<TestIo> =>
  runTest(args, { cwd: pack.folder, env: { KRMHUB_CACHE: path.join(pack.folder, '.cache') } });
const explain = async (...args: string[]) => {
  const io = await run('explain', 'app', '-o', 'json', ...args);
  const [fn] = JSON.parse(io.out()).functions;
  return { exitCode: io.exitCode, reason: fn.reason as string, hint: fn.hint, image: fn.runtime?.image };
};
const lockText = () => readFile(path.join(pack.folder, 'app/krmhub.lock'), 'utf8');
async function forge(change: (text: string) => string): Promise<void> {
  const text = await lockText();
  const forged = change(text);
  expect(forged).not.toBe(text);
  await pack.write({ 'app/krmhub.lock': forged });
}
const forgetCache = () => rm(path.join(pack.folder, '.cache'), { recursive: true });

/** Nothing listens there: images whose digest is known are locked without their registry. */
const local = (text: string) => text.replaceAll('registry.example.com', 'localhost:9');
const [A, B, EVIL] = ['a', 'b', 'e'].map((digit) => digit.repeat(64)) as [string, string, string];
const ours = (kinds: string[] = ['SetLabels']) => local(catalogText('example.com', kinds));
const trusted = ['--trusted-catalog', 'catalog.yaml', '--trusted-catalog', 'other.yaml'];
const files = {
  'app/kustomization.yaml': 'catalogs: [../other.yaml, ../catalog.yaml]\ntransformers: [labels.yaml]\n',
  'app/labels.yaml': config('SetLabels'),
  'catalog.yaml': ours(),
  'other.yaml': ours(['Another']),
};
async function lockedPackage(more: Record<string, string> = {}): Promise<void> {
  pack = await testPackage({ ...files, ...more });
  expect((await run('lock', 'app', ...trusted)).exitCode).toBe(0);
}
const evilImage = (text: string) => text.replace(/image: .*/, `image: evil.example.com/x@sha256:${EVIL}`);

describe('a forged lock file', () => {
  it.each([
    ['another image', evilImage],
    ['another digest', (text: string) => text.replace(A, EVIL)],
    ['another repository', (text: string) => text.replace('localhost:9/setlabels', 'localhost:9/evil')],
    ['network access', (text: string) => `${text}    network: true\n`],
    ['mounts', (text: string) => `${text}    storage: true\n`],
    [
      'an executable',
      (text: string) =>
        text.replace(
          / {2}container:\n.*\n/,
          `  exec:\n    platforms:\n    - {os: linux, arch: amd64, bin: x, uri: "https://evil.example.com/x", sha256: "sha256:${EVIL}"}\n`,
        ),
    ],
  ])('is refused with %s: from the catalog, offline, frozen, and by lock', async (_, change) => {
    await lockedPackage();
    await forge(change);
    for (const options of [[], ['--offline'], ['--frozen']]) {
      const { exitCode, reason, hint } = await explain(...trusted, ...options);
      expect([options, exitCode, reason]).toEqual([
        options,
        4,
        expect.stringContaining('the lock file does not match the locked definition'),
      ]);
      expect(hint).toContain('krmhub lock app --upgrade SetLabels');
    }
    const text = await lockText();
    expect((await run('lock', 'app', ...trusted)).exitCode).toBe(4);
    expect(await lockText()).toBe(text);
    expect((await run('lock', 'app', '--upgrade', 'SetLabels', ...trusted)).exitCode).toBe(0);
    expect((await explain(...trusted)).image).toBe(`localhost:9/setlabels@sha256:${A}`);
  });

  it('is refused frozen by the machine that locked, also if no registry of its image responded', async () => {
    await lockedPackage();
    expect(await lockText()).not.toContain('platforms:');
    await forge(evilImage);
    const { exitCode, reason } = await explain(...trusted, '--frozen');
    expect([exitCode, reason]).toEqual([4, expect.stringContaining('the lock file does not match')]);
  });

  it('without anything in the cache is refused too, except where it is frozen', async () => {
    await lockedPackage();
    await forge(evilImage);
    for (const options of [[], ['--offline']]) {
      await forgetCache().catch(() => undefined);
      expect((await explain(...trusted, ...options)).exitCode).toBe(4);
    }
    await forgetCache();
    // The option says that the lock file was reviewed as code is.
    expect((await explain(...trusted, '--frozen')).exitCode).toBe(0);
  });

  it('may not name a definition that the catalog never had', async () => {
    await lockedPackage();
    await forge((text) => evilImage(text).replace(/definition: .*/, `definition: sha256:${EVIL}`));
    const { exitCode, reason, hint } = await explain(...trusted);
    expect([exitCode, reason]).toEqual([4, expect.stringContaining('the locked definition sha256:eee')]);
    expect(hint).toContain('krmhub lock app --upgrade SetLabels');
  });

  it('runs what was locked where the catalog moved on, but only if that was seen', async () => {
    await lockedPackage();
    await pack.write({ 'catalog.yaml': ours().replaceAll(A, B) });
    expect(await explain(...trusted)).toMatchObject({ exitCode: 0, image: expect.stringContaining(A) });
    await forge(evilImage);
    expect((await explain(...trusted)).reason).toContain('the lock file does not match');
    await forgetCache();
    expect((await explain(...trusted)).reason).toContain('is not available');
    await pack.write({ 'catalog.yaml': ours(['Another']) });
    expect((await explain(...trusted)).exitCode).toBe(4);
  });

  it('cannot hide that a catalog that is searched first has the function', async () => {
    await lockedPackage({ 'official.yaml': ours().replaceAll(A, B) });
    await forge((text) =>
      text
        .replace('catalogs:\n', 'catalogs:\n- reference: "../official.yaml"\n')
        .replace('notIn:\n', 'notIn:\n  - "../official.yaml"\n'),
    );
    for (const options of [[], ['--offline']]) {
      const { exitCode, reason } = await explain('--official', 'official.yaml', ...trusted, ...options);
      expect([exitCode, reason]).toEqual([
        4,
        expect.stringContaining('which is searched first, has example.com/v1 SetLabels'),
      ]);
    }
    // Without the claim, the lock does not apply.
    await forge((text) => text.replace('notIn:\n  - "../official.yaml"\n', 'notIn:\n'));
    expect(await explain('--official', 'official.yaml', ...trusted)).toMatchObject({
      exitCode: 0,
      image: `localhost:9/setlabels@sha256:${B}`,
    });
  });

  it('cannot bring in a catalog that the kustomization does not name, nor one in another spelling', async () => {
    const evil = { 'app/evil.yaml': ours().replaceAll(A, EVIL) };
    await lockedPackage(evil);
    for (const name of ['./evil.yaml', '.././catalog.yaml', '../Catalog.yaml']) {
      await forge((text) => text.replaceAll(/"?\S*(?:atalog|evil)\.yaml"?$/gm, `"${name}"`).replace(A, EVIL));
      const { image } = await explain(...trusted);
      expect([name, image]).toEqual([name, `localhost:9/setlabels@sha256:${A}`]);
      expect((await explain(...trusted, '--frozen')).exitCode).toBe(3);
    }
  });

  it('grants no trust by a key that it names', async () => {
    await lockedPackage();
    await forge((text) => text.replace(/( {2}digest: .*\n)/g, `$1  key: sha256:${EVIL}\n`));
    for (const options of [[], ['--offline'], ['--frozen']]) {
      expect((await explain(...options)).exitCode).toBe(4);
    }
  });

  it('may not resolve a tag in another repository', async () => {
    const tagged = ours().replaceAll(/ +sha256: .*\n/g, '');
    await lockedPackage();
    await pack.write({ 'catalog.yaml': tagged });
    expect((await explain(...trusted)).exitCode).toBe(0);
    await forge((text) => text.replace('localhost:9/setlabels', 'localhost:9/evil').replace(A, EVIL));
    expect((await explain(...trusted)).exitCode).toBe(4);
  });
});

describe('a forged lock of a registry', () => {
  const registry = fileRegistry();
  let client: RegistryClient;
  const publish = async (release: string, digest: string) => {
    const text = local(definitionText({ kind: 'SetLabels', release })).replaceAll(A, digest);
    const name = { group: 'example.com', kind: 'SetLabels', release, mediaType: 'application/yaml' as const };
    await client.publish({ ...name, definition: new TextEncoder().encode(text), wait: true });
  };
  beforeAll(async () => {
    client = new RegistryClient(registry);
    await publish('1.0.0', A);
  });

  it('is compared with the snapshot that is locked where the catalog moved on', async () => {
    const url = `${registry.url}/catalogs/default`;
    pack = await testPackage({
      'app/kustomization.yaml': `catalogs: ["${url}"]\ntransformers: [labels.yaml]\n`,
      'app/labels.yaml': config('SetLabels'),
    });
    const options = ['--trusted-catalog', url];
    expect((await run('lock', 'app', ...options)).exitCode).toBe(0);
    await publish('2.0.0', B);
    await forgetCache();
    expect(await explain(...options)).toMatchObject({ exitCode: 0, image: expect.stringContaining(A) });
    const honest = await lockText();
    await forge(evilImage);
    for (const forget of [false, true]) {
      if (forget) await forgetCache();
      expect(await explain(...options)).toMatchObject({
        exitCode: 4,
        reason: expect.stringContaining('evil.example.com/x'),
      });
    }
    // A definition that the registry does not have under the locked release.
    await pack.write({ 'app/krmhub.lock': honest.replace(/definition: .*/, `definition: sha256:${EVIL}`) });
    expect((await explain(...options)).exitCode).toBe(4);
  });
});
