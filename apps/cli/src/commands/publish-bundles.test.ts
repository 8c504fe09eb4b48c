import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, type TestIo, temporaryFolder } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';

/** What `publish` does with the bundle that `sign` wrote next to a definition. */

const source = fileURLToPath(
  new URL('../../../../test/fixtures/functions/set-labels/2.0.0.yaml', import.meta.url),
);
const folder = temporaryFolder();
const registry = fileRegistry();

const run = (...args: string[]): Promise<TestIo> =>
  runTest(args, { cwd: folder, env: { HOME: folder, ...registry.env } });

async function succeeds(...args: string[]): Promise<TestIo> {
  const io = await run(...args);
  expect(io.exitCode, `krmhub ${args.join(' ')}\n${io.err()}`).toBe(0);
  return io;
}

/** Writes a definition of a group of its own, and returns the names of its file and bundle. */
function define(name: string): { file: string; bundle: string; fn: string } {
  const group = `${name}.example.com`;
  const text = readFileSync(source, 'utf8').replace('group: functions.example.com', `group: ${group}`);
  writeFileSync(path.join(folder, `${name}.yaml`), text);
  return { file: `${name}.yaml`, bundle: `${name}.yaml.sigstore.json`, fn: `${group}/SetLabels` };
}

const sign = (file: string, ...args: string[]) => succeeds('sign', file, '--key', 'krmhub.key', ...args);

async function listBundles(release: string): Promise<{ claim: string; whole?: boolean }[]> {
  return JSON.parse((await succeeds('show', release, '-o', 'json')).out()).bundles;
}

beforeAll(async () => {
  await writeKeyFiles(folder, 'krmhub');
});

it('publishes the bundle with the release, and says so', async () => {
  const { file, bundle, fn } = define('beside');
  writeFileSync(path.join(folder, 'README.md'), '# Set labels\n');
  await sign(file, '--release', '1.0.0', '--readme', 'README.md');
  const args = ['publish', file, '--release', '1.0.0', '--readme', 'README.md'];
  const dryRun = await succeeds(...args, '--dry-run');
  expect(dryRun.err()).toContain(`using ${bundle} for ${fn}@1.0.0\n`);
  const io = await succeeds(...args);
  expect(io.err()).toContain(`using ${bundle} for ${fn}@1.0.0\n`);
  expect(await listBundles(`${fn}@1.0.0`)).toMatchObject([{ claim: 'signature', whole: true }]);
  await succeeds('verify', `${fn}@1.0.0`, '--key', 'krmhub.pub');
  // Again: nothing changes.
  expect((await succeeds(...args)).out()).toContain('\tunchanged\t');
});

it('uses the bundles of all definitions of a folder', async () => {
  const [one, other] = [define('one'), define('other')];
  await sign(one.file, '--release', '2.0.0');
  await sign(other.file, '--release', '2.0.0');
  const io = await succeeds('publish', one.file, other.file, '--release', '2.0.0');
  for (const { bundle, fn } of [one, other]) {
    expect(io.err()).toContain(`using ${bundle} for ${fn}@2.0.0\n`);
    expect(await listBundles(`${fn}@2.0.0`)).toMatchObject([{ claim: 'signature' }]);
  }
});

it('refuses a bundle for another README', async () => {
  const { file, bundle } = define('readme');
  writeFileSync(path.join(folder, 'README.md'), '# Set labels\n');
  const readme = ['--readme', 'README.md'];
  await sign(file, '--release', '1.0.0');
  expectEnd(await run('publish', file, '--release', '1.0.0', ...readme), 4, 'does not sign this README');
  await sign(file, '--release', '1.0.0', ...readme, '--overwrite');
  expectEnd(await run('publish', file, '--release', '1.0.0'), 4, `${bundle} signs the release with a README`);
});

it('refuses a bundle of other bytes, and publishes without it once it is removed', async () => {
  const { file, bundle, fn } = define('stale');
  await sign(file, '--release', '1.0.0');
  const text = readFileSync(path.join(folder, file), 'utf8');
  writeFileSync(path.join(folder, file), `${text}# changed\n`);
  const refused = await run('publish', file, '--release', '1.0.0');
  expectEnd(refused, 4, `${bundle} does not sign ${file}, which has changed since`);
  expect(refused.err()).toContain(`krmhub sign ${file} --key FILE.key --release 1.0.0 --overwrite`);
  expect(refused.err()).toContain(`remove ${bundle}`);
  expect((await run('show', fn)).exitCode).toBe(3);
  // A key signs the bytes that are published; the stale bundle does not matter.
  await succeeds('publish', file, '--release', '1.0.0', '--key', 'krmhub.key');
  await sign(file, '--release', '1.0.0', '--overwrite');
  await succeeds('publish', file, '--release', '1.0.0');
  rmSync(path.join(folder, bundle));
  expect((await succeeds('publish', file, '--release', '1.0.0')).err()).not.toContain('using');
});

it('refuses a bundle of another release, and one without a release', async () => {
  const { file, bundle, fn } = define('release');
  await sign(file, '--release', '1.0.0');
  const other = await run('publish', file, '--release', '1.1.0');
  expectEnd(other, 4, `${bundle} signs ${fn}@1.0.0`);
  expect(other.err()).toContain('--release 1.0.0');
  await sign(file, '--overwrite');
  expectEnd(await run('publish', file, '--release', '1.0.0'), 4, 'signs the bytes, not a release');
});

it('refuses a file that is not a bundle', async () => {
  const { file, bundle } = define('secret');
  writeFileSync(path.join(folder, bundle), readFileSync(path.join(folder, 'krmhub.key')));
  expectEnd(await run('publish', file, '--release', '1.0.0'), 4, 'is not a sigstore bundle');
});
