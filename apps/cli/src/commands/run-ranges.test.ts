import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fileRegistry, runTest, type TestIo } from '../testing/command-line.js';
import { DEPLOYMENT } from '../testing/fn-package.js';
import { type TestPackage, testPackage } from '../testing/package-files.js';
import { kptPipeline, publishScript } from '../testing/script-functions.js';

/** What runs in packages that accept only some releases. */

const registry = fileRegistry();
let pack: TestPackage;
afterEach(() => pack.remove());

const catalog = () => `${registry.url}/catalogs/default`;
const run = (...args: string[]): Promise<TestIo> =>
  runTest([...args, '--trusted-catalog', catalog()], {
    cwd: pack.folder,
    env: { PATH: process.env.PATH ?? '', KRMHUB_CACHE: path.join(pack.folder, '.cache') },
  });
/** Runs a command, and returns what the release that ran wrote. */
async function team(...args: string[]): Promise<string | undefined> {
  const io = await run(...args);
  expect(io.exitCode, io.err()).toBe(0);
  const text = io.out() + (await readFile(path.join(pack.folder, 'app/deployment.yaml'), 'utf8'));
  return /team: "?([^"\n]*)/.exec(text)?.[1];
}

async function publish(kind: string): Promise<void> {
  for (const release of ['1.0.0', '1.1.0', '2.0.0']) {
    const script = `
for item in ctx.resource_list["items"]:
    if item["kind"] == "Deployment":
        item["metadata"].setdefault("annotations", {})["team"] = "of-${release}"
`;
    await publishScript(registry, { kind, release, runtime: 'starlark', script });
  }
}
const settings = (text: string) => ({
  'app/krmhub.yaml': `apiVersion: krmhub.dev/v1alpha1\nkind: PackageSettings\nmetadata:\n  name: settings\n  annotations:\n    config.kubernetes.io/local-config: "true"\n${text}`,
});

describe('a range of releases', () => {
  it('decides what `fn render` runs, and what an upgrade would change', async () => {
    await publish('Render');
    pack = await testPackage({
      ...kptPipeline(catalog(), ['Render']),
      'app/deployment.yaml': DEPLOYMENT,
      ...settings('functions: [{kind: Render, release: ~1.0}]\n'),
    });
    expect(await team('fn', 'render', 'app')).toBe('of-1.0.0');
    expect((await run('lock', 'app')).exitCode).toBe(0);
    expect(await team('fn', 'render', 'app', '--frozen')).toBe('of-1.0.0');
    await pack.write(settings('functions: [{kind: Render, release: ^1}]\n'));
    expect(await team('fn', 'render', 'app')).toBe('of-1.0.0');
    // The locked release is no longer accepted: the preview still shows what it made.
    await pack.write(settings('functions: [{kind: Render, release: ^2}]\n'));
    const refused = await run('fn', 'render', 'app');
    expect([refused.exitCode, refused.err()]).toEqual([
      3,
      expect.stringContaining('release 1.0.0 is locked, which is not in the range ^2'),
    ]);
    const preview = await run('lock', 'app', '--preview');
    expect([preview.exitCode, preview.err()]).toEqual([0, expect.any(String)]);
    expect(preview.out()).toMatch(/-.*of-1\.0\.0[\s\S]*\+.*of-2\.0\.0/);
    expect((await run('lock', 'app')).exitCode).toBe(0);
    expect(await team('fn', 'render', 'app')).toBe('of-2.0.0');
  });

  it('of a functionConfig decides what `fn eval` and `fn run` use', async () => {
    await publish('Eval');
    const config = (range: string) =>
      `apiVersion: example.com/v1\nkind: Eval\nmetadata:\n  name: eval\n  annotations:\n    krmhub.dev/release: ${range}\n`;
    pack = await testPackage({
      'app/deployment.yaml': DEPLOYMENT,
      'fn.yaml': config('1.1.x'),
      ...settings('functions: [{kind: Eval, release: ~1.0}]\n'),
    });
    const evaluate = ['fn', 'eval', 'app', '--fn-config', 'fn.yaml', '-c', catalog(), '-o', 'stdout'];
    expect((await run(...evaluate)).out()).toContain('of-1.1.0');
    await pack.write({ 'fn.yaml': config('~3') });
    const refused = await run(...evaluate);
    expect([refused.exitCode, refused.err()]).toEqual([
      3,
      expect.stringContaining('no release for the range ~3'),
    ]);
    await pack.write({ 'app/fn.yaml': config('~1.0') });
    expect(await team('fn', 'run', 'app', '-c', catalog())).toBe('of-1.0.0');
  });
});
