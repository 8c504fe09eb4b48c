import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { canonicalRemote } from '../lock/report-consumer.js';
import { definitionText } from '../testing/catalog-build.js';
import { fileRegistry, runTest, type TestIo } from '../testing/command-line.js';
import { config, type TestPackage, testPackage } from '../testing/package-files.js';

/** `krmhub lock --report`, and what publishers see of it. */

const registry = fileRegistry();
let client: RegistryClient;
let pack: TestPackage;
const definition = (release: string) =>
  definitionText({ kind: 'SetLabels', release }).replaceAll('registry.example.com', 'localhost:9');

beforeAll(async () => {
  client = new RegistryClient(registry);
  const name = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
  const bytes = new TextEncoder().encode(definition('1.0.0'));
  await client.publish({ ...name, mediaType: 'application/yaml', definition: bytes, wait: true });
});
afterEach(() => pack.remove());

async function makePackage(remote?: string): Promise<void> {
  pack = await testPackage({
    'apps/web/kustomization.yaml': `catalogs: ["${registry.url}/catalogs/default"]\ntransformers: [labels.yaml]\n`,
    'apps/web/labels.yaml': config('SetLabels', 'labels: {secret: secret}\n'),
  });
  if (remote === undefined) return;
  const git = (...args: string[]) => execFileSync('git', ['-C', pack.folder, ...args]);
  git('init', '--quiet');
  git('remote', 'add', 'origin', remote);
}
const run = (args: string[], env: Record<string, string> = registry.env): Promise<TestIo> =>
  runTest(args, {
    cwd: pack.folder,
    env: { PATH: process.env.PATH!, KRMHUB_CACHE: path.join(pack.folder, '.c'), ...env },
  });
const lock = (args: string[], env?: Record<string, string>) =>
  run(['lock', 'apps/web', '--trusted-catalog', `${registry.url}/catalogs/default`, ...args], env);
const counts = () => client.functionConsumers('example.com', 'SetLabels');

describe('krmhub lock --report', () => {
  it('sends a hash of the repository and the releases, and prints exactly that', async () => {
    await makePackage('https://user:secret@github.com/example/shop.git');
    const name = sha256(`${registry.url}\ngithub.com/example/shop\napps/web`);
    const dry = await lock(['--report', '--dry-run', '--report-fields', '-o', 'json']);
    expect([dry.exitCode, existsSync(path.join(pack.folder, 'apps/web/krmhub.lock'))]).toEqual([0, false]);
    const { reports } = JSON.parse(dry.out());
    const release = { group: 'example.com', kind: 'SetLabels', version: 'v1', release: '1.0.0' };
    expect(reports).toEqual([
      {
        registry: registry.url,
        report: { name, releases: [{ ...release, fields: ['labels', 'labels.*'] }] },
      },
    ]);
    expect(dry.err()).toContain(
      `would report to ${registry.url} as ${name}:\n  example.com/v1 SetLabels 1.0.0, with the fields labels, labels.*\n`,
    );
    expect(dry.out() + dry.err()).not.toContain('secret');
    expect((await counts()).packages).toBe(0);

    expect((await lock([])).exitCode).toBe(0);
    expect((await counts()).packages).toBe(0);
    const sent = await lock(['--check', '--report']);
    expect([sent.exitCode, sent.err()]).toEqual([
      0,
      expect.stringContaining(`reporting to ${registry.url} as ${name}:`),
    ]);
    expect(await counts()).toEqual({
      packages: 1,
      releases: [{ version: 'v1', release: '1.0.0', packages: 1 }],
      fields: [],
      names: [],
    });
    await lock(['--report', '--report-as', 'github.com/example/shop', '--report-fields']);
    expect(await counts()).toMatchObject({
      packages: 2,
      fields: [{ field: 'labels' }, { field: 'labels.*' }],
      names: ['github.com/example/shop'],
    });
  });

  it('needs a name, a token, and a lock file that is up to date', async () => {
    await makePackage();
    const nameless = await lock(['--report']);
    expect([nameless.exitCode, nameless.err()]).toEqual([2, expect.stringContaining('Use --report-as NAME')]);
    const before = (await counts()).packages;
    const old = await lock(['--check', '--report', '--report-as', 'old']);
    expect([old.exitCode, old.err()]).not.toContain('reporting');
    expect(old.exitCode).toBe(1);
    const anonymous = await lock(['--report', '--report-as', 'a'], { KRMHUB_REGISTRY: registry.url });
    expect(anonymous.exitCode).toBe(6);
    expect((await counts()).packages).toBe(before);
    for (const args of [['--report-fields'], ['--report-as', 'a'], ['--report', '--preview']])
      expect((await lock(args)).exitCode).toBe(2);
  });

  it('lets publishers see who would break', async () => {
    await makePackage();
    await lock(['--report', '--report-as', 'shop', '--report-fields']);
    const { packages } = await counts();
    const file = path.join(pack.folder, 'new.yaml');
    const publish = async (text: string, ...more: string[]) => {
      await writeFile(file, text);
      return run(['publish', 'new.yaml', '--release', '2.0.0', '--dry-run', ...more]);
    };
    const text = definition('2.0.0');
    expect((await publish(text)).err()).toMatch(
      new RegExp(
        `^example.com/SetLabels@2.0.0: ${packages} packages? locks? the function \\(1.x: ${packages}\\)$`,
        'm',
      ),
    );
    const renamed = text.replaceAll('labels:', 'values:');
    const refused = await publish(renamed);
    expect([refused.exitCode, refused.err()]).toEqual([
      1,
      expect.stringContaining('removed field labels of v1'),
    ]);
    expect((await publish(renamed, '--allow-breaking')).err()).toMatch(
      /; \d uses? the removed field labels of v1; \d uses? the removed field labels\.\* of v1$/m,
    );
    expect((await publish(text.replace('name: v1', 'name: v2'), '--allow-breaking')).err()).toMatch(
      /; \d uses? the removed API version v1$/m,
    );
    const yanked = await run(['yank', 'example.com/SetLabels@1.0.0', '--reason', 'bad']);
    expect(yanked.err()).toMatch(/\n {2}\d packages? reported that (?:it locks|they lock) it\n/);
  });
});

describe('canonicalRemote', () => {
  it.each([
    'https://github.com/example/shop.git',
    'https://user:secret@GitHub.com/example/shop',
    'git@github.com:example/shop.git',
    'ssh://git@github.com:22/example/shop.git/',
    'github.com:example/shop',
  ])('is the same for %s', (remote) => {
    expect(canonicalRemote(remote)).toBe('github.com/example/shop');
  });
});
