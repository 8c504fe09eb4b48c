import { afterEach, describe, expect, it } from 'vitest';
import { testIo } from '../../testing/command-line.js';
import { type TestPackage, testPackage } from '../../testing/package-files.js';
import { choosePin } from './choose-pin.js';
import { newRecord, type PluginPin, type PluginRecord } from './plugin-record.js';

const NAME = { apiVersion: 'example.com/v1', kind: 'SetLabels' };
const CATALOG = 'https://hub.example.com/catalogs/platform';
const OFFICIAL = 'https://hub.example.com/catalogs/official';

const digest = (digit: string) => `sha256:${digit.repeat(64)}` as const;
const image = (digit: string, name = 'registry.example.com/set-labels') => `${name}@${digest(digit)}`;
const container = (digit: string): PluginPin => ({
  catalog: { reference: CATALOG, trustedBy: '--catalog' },
  runtime: { type: 'container', image: image(digit), network: false, storage: false },
});
const platform = (os: 'linux' | 'darwin', digit: string) => ({
  os,
  arch: 'amd64' as const,
  bin: 'run',
  uri: `https://example.com/${os}`,
  sha256: digest(digit),
});
const executable = (...platforms: ReturnType<typeof platform>[]): PluginPin => ({
  catalog: { reference: CATALOG, trustedBy: '--catalog' },
  runtime: { type: 'exec', platforms },
});

function record(pins: PluginRecord['pins'], more: Partial<PluginRecord> = {}): PluginRecord {
  return newRecord({
    function: NAME,
    installedAt: '2026-01-01T00:00:00Z',
    catalogs: [CATALOG],
    pins,
    permissions: { allowExec: false, network: false, mounts: [] },
    plugin: digest('f'),
    ...more,
  });
}

const lock = (
  runtime: string,
  { kind = 'SetLabels', catalog = CATALOG } = {},
) => `apiVersion: krmhub.dev/v1alpha1
kind: Lock
catalogs:
- reference: ${catalog}
functions:
- catalog: ${catalog}
  apiVersion: example.com/v1
  kind: ${kind}
  release: "1.0.0"
  definition: ${digest('d')}
${runtime}`;
const lockedImage = (reference: string) => `  container:\n    image: ${reference}\n`;
const lockedExecutables = (...platforms: ReturnType<typeof platform>[]) =>
  `  exec:\n    platforms:\n${platforms.map((one) => `    - ${JSON.stringify(one)}\n`).join('')}`;

let pack: TestPackage;
afterEach(() => pack.remove());

async function choose(chosen: PluginRecord, lockText?: string): Promise<PluginPin> {
  pack = await testPackage(lockText === undefined ? {} : { 'krmhub.lock': lockText });
  return choosePin(testIo({ cwd: pack.folder }), chosen, pack.folder);
}

describe('what a plugin runs', () => {
  const [first, second] = [container('a'), container('b')];
  const both: PluginRecord['pins'] = [first, second];

  it('is the first pin without a lock file', async () => {
    expect(await choose(record(both))).toBe(first);
  });

  it('is the pin that the lock file names, at whatever place its image is', async () => {
    expect(await choose(record(both), lock(lockedImage(image('b'))))).toBe(second);
    await pack.remove();
    const mirrored = lockedImage(image('b', 'mirror.example.com/set-labels'));
    expect(await choose(record(both), lock(mirrored))).toBe(second);
  });

  it('is the pin with the same executables, in any order and from any place', async () => {
    const [linux, darwin] = [platform('linux', 'a'), platform('darwin', 'b')];
    const pin = executable(darwin, linux);
    const moved = { ...linux, uri: 'https://mirror.example.com/linux' };
    expect(await choose(record([first, pin]), lock(lockedExecutables(moved, darwin)))).toBe(pin);
  });

  it.each([
    ['has another kind', lock(lockedImage(image('b')), { kind: 'SetNames' })],
    ['is of another catalog', lock(lockedImage(image('b')), { catalog: 'https://other.example.com/c.yaml' })],
  ])('is the first pin if the lock file %s', async (_, text) => {
    expect(await choose(record(both), text)).toBe(first);
  });

  it('is the first pin if a catalog comes first that the lock file did not search', async () => {
    expect(await choose(record(both, { official: OFFICIAL }), lock(lockedImage(image('b'))))).toBe(first);
  });

  it.each([
    ['another image', lockedImage(image('e'))],
    ['an executable of another digest', lockedExecutables(platform('linux', 'e'))],
    ['fewer platforms', lockedExecutables(platform('linux', 'a'))],
    ['a script', `  starlark:\n    reference: https://example.com/a.star\n    sha256: ${digest('a')}\n`],
  ])('is nothing if the lock file names %s: a lock file adds nothing', async (_, runtime) => {
    const pins: PluginRecord['pins'] = [first, executable(platform('linux', 'a'), platform('darwin', 'b'))];
    await expect(choose(record(pins), lock(runtime))).rejects.toMatchObject({
      code: 'untrusted',
      message: expect.stringContaining('krmhub.lock locks release 1.0.0, which is not installed'),
      hint: expect.stringMatching(
        /krmhub plugins install -c https:\S+ --kind example.com\/v1\/SetLabels --lock \S+krmhub.lock$/,
      ),
    });
  });

  it('is nothing if the lock file cannot be read', async () => {
    await expect(choose(record(both), 'kind: Lock\n')).rejects.toMatchObject({ code: 'invalid-document' });
  });
});
