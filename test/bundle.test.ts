import { cpSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { outputOf } from './processes.js';
import { root, temporaryFolder } from './running.js';

const { folder, remove } = temporaryFolder();
const packages = readdirSync(path.join(root, 'packages')).map((name) => `packages/${name}`);
const built = [...packages, 'apps/registry', 'apps/cli'];
const bundle = path.join(folder, 'apps/cli/dist/bundle/krmhub.js');

/** The program that the command would run, in a checkout that was bundled at 2,000, after all but one part. */
function chosen(part: string, compiled: number): string {
  for (const name of built) utimesSync(path.join(folder, name, 'dist/.tsbuildinfo'), 1_000, 1_000);
  utimesSync(path.join(folder, part, 'dist/.tsbuildinfo'), compiled, compiled);
  utimesSync(bundle, 2_000, 2_000);
  return run();
}
const run = () => outputOf(process.execPath, [path.join(folder, 'apps/cli/bin/krmhub.js')]);

beforeAll(() => {
  cpSync(path.join(root, 'apps/cli/bin'), path.join(folder, 'apps/cli/bin'), { recursive: true });
  for (const name of built) {
    mkdirSync(path.join(folder, name, 'dist'), { recursive: true });
    writeFileSync(path.join(folder, name, 'dist/.tsbuildinfo'), '');
  }
  writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(path.join(folder, 'apps/cli/dist/main.js'), "process.stdout.write('compiled')");
  mkdirSync(path.dirname(bundle));
  writeFileSync(bundle, "process.stdout.write('bundled')");
});
afterAll(remove);

it.each(built)('runs the bundle unless %s was compiled after it', (part) => {
  expect(chosen(part, 1_000)).toBe('bundled');
  expect(chosen(part, 3_000)).toBe('compiled');
});

it('runs the bundle if nothing else is installed, and the compiled program if there is no bundle', () => {
  for (const name of built) rmSync(path.join(folder, name, 'dist/.tsbuildinfo'));
  expect(run()).toBe('bundled');
  rmSync(bundle);
  expect(run()).toBe('compiled');
});
