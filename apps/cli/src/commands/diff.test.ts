import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { textWidth } from '@krmhub/schema/text';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../testing/command-line.js';

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/', import.meta.url));
const setLabels = path.join(fixtures, 'functions/set-labels');
const SET_LABELS = 'functions.example.com/SetLabels';

const registry = fileRegistry();
beforeAll(async () => {
  const { exitCode, err } = await runTest(['publish', setLabels, '--allow-breaking'], { env: registry.env });
  expect(exitCode, err()).toBe(0);
});

const run = (args: string[], options: TestIoOptions = {}) =>
  runTest(['diff', ...args], { cwd: setLabels, env: registry.env, ...options });

it('compares two releases in short or full form, and exits with 1 for breaking changes', async () => {
  const broken = await run([`${SET_LABELS}@1.1.0`, 'v2', '-o', 'json']);
  expect([broken.exitCode, broken.err()]).toEqual([1, '']);
  const name = { group: 'functions.example.com', kind: 'SetLabels' };
  expect(JSON.parse(broken.out())).toEqual({
    before: { ...name, release: '1.1.0' },
    after: { ...name, release: '2.0.0' },
    breaking: 1,
    review: 0,
    compatible: 4,
    changes: [
      {
        rule: 'version-removed',
        effect: 'breaking',
        version: 'v1beta1',
        path: 'spec.versions',
        message: 'the API version v1beta1 is removed',
      },
      {
        rule: 'property-added',
        effect: 'compatible',
        version: 'v1',
        path: 'spec.versions[0].schema.openAPIV3Schema.properties.onlyKinds',
        message: 'onlyKinds is added',
      },
      expect.objectContaining({ rule: 'image-changed' }),
      expect.objectContaining({ rule: 'documentation-changed' }),
      expect.objectContaining({ rule: 'documentation-changed' }),
    ],
  });
  const full = await run([`${SET_LABELS}@1.1.0`, `${SET_LABELS}@2.0.0`, '-o', 'json']);
  expect(full.out()).toBe(broken.out());
  expect((await run([`${SET_LABELS}@1.0.0`, '1.1.0'])).exitCode).toBe(0);
});

it('compares files, also with a release and with stdin', async () => {
  const files = await run(['1.1.0.yaml', '2.0.0.yaml', '-o', 'yaml']);
  expect([files.exitCode, files.out()]).toEqual([1, expect.stringContaining('rule: version-removed')]);
  const stdin = await readFile(path.join(setLabels, '2.0.0.yaml'));
  const mixed = await run([`${SET_LABELS}@2.0.0`, '-'], { stdin });
  expect([mixed.exitCode, mixed.out(), mixed.err()]).toEqual([0, '', 'no differences\n']);
});

it('groups changes by effect within 80 columns, or one per line in a pipe', async () => {
  const terminal = await run([`${SET_LABELS}@1.1.0`, '2.0.0'], { tty: true });
  const text = terminal.out().replace(/\u001b\[\d+m/g, '');
  expect(text).toContain(`${SET_LABELS}@1.1.0 → ${SET_LABELS}@2.0.0\n\nBreaking\n  v1beta1: the API version`);
  expect(text).toContain('\nCompatible\n  v1: onlyKinds is added (property-added)\n');
  for (const line of text.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(80);
  const piped = await run([`${SET_LABELS}@1.1.0`, '2.0.0']);
  expect(piped.out().split('\n')[0]).toBe(
    'breaking\tversion-removed\tv1beta1\tspec.versions\tthe API version v1beta1 is removed',
  );
  expect(piped.err()).toBe('1 breaking, 0 to review, 4 compatible\n');
});

it('reports what it cannot compare', async () => {
  expect((await run(['-', '-'])).exitCode).toBe(2);
  const missing = await run([`${SET_LABELS}@1.0.0`, '7.0.0']);
  expect([missing.exitCode, missing.err().includes('2.0.0, 1.1.0')]).toEqual([3, true]);
  expect((await run(['1.0.0.yaml', 'gone.yaml'])).exitCode).toBe(3);
  expectEnd(await run(['1.0.0.yaml', path.join(fixtures, 'catalogs/example-co.yaml')]), 2, 'krmhub convert');
  const wrong = await run(['1.0.0.yaml', '-'], { stdin: 'kind: KRMFunctionDefinition\nspec: 1\n' });
  expectEnd(wrong, 1, '<stdin>');
});

it('compares a script beside a definition with that of a release', async () => {
  const cwd = temporaryFolder();
  onTestFinished(() => rm(cwd, { recursive: true }));
  const options = { cwd, env: registry.env };
  expect((await runTest(['init', 'example.com/SetOwner', '--runtime', 'starlark'], options)).exitCode).toBe(
    0,
  );
  const file = path.join(cwd, 'set-owner/definition.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll('# CHANGE:', '#'));
  const publish = ['publish', 'set-owner/definition.yaml', '--release', '0.1.0'];
  expect((await runTest(publish, options)).exitCode).toBe(0);
  const args = ['example.com/SetOwner@0.1.0', 'set-owner/definition.yaml'];
  const same = await run(args, { cwd });
  expect([same.exitCode, same.out(), same.err()]).toEqual([0, '', 'no differences\n']);
  await appendFile(path.join(cwd, 'set-owner/main.star'), '\n# changed\n');
  const changed = await run(args, { cwd });
  expect(changed.out()).toMatch(/^\S+\t\S+\tv1alpha1\tspec\.versions\[0\]\.runtime\.starlark\tthe script /);
  expect(changed.out().split('\n')).toHaveLength(2);
});

it('explains how to add the release to a function', async () => {
  const io = await run([SET_LABELS, `${SET_LABELS}@1.0.0`]);
  expectEnd(io, 3, `List the releases: krmhub show ${SET_LABELS}`);
});
