import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { inlineScript } from './inline-script.js';

const root = mkdtempSync(path.join(tmpdir(), 'krmhub-inline-'));
const folder = path.join(root, 'app');
afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeAll(() => {
  mkdirSync(path.join(folder, 'scripts'), { recursive: true });
  writeFileSync(path.join(root, 'outside.star'), 'print("outside")\n');
  writeFileSync(path.join(folder, 'scripts/..main.star'), 'print("inside")\n');
  writeFileSync(path.join(folder, 'large.star'), '#'.repeat(DOCUMENT_LIMITS.maxScriptBytes + 1));
  symlinkSync(path.join(root, 'outside.star'), path.join(folder, 'link.star'));
  execFileSync('mkfifo', [path.join(folder, 'pipe.star')]);
});

const read = (name: string) => inlineScript(testIo({ cwd: root }), { type: 'starlark', path: name }, folder);

it('reads a script in the folder of the kustomization', async () => {
  const { script } = await read('./scripts/..main.star');
  expect(Buffer.from(script).toString()).toBe('print("inside")\n');
});

it.each([
  ['a path to another folder', '../outside.star', 'untrusted'],
  ['an absolute path', path.join(root, 'outside.star'), 'untrusted'],
  ['a link', 'link.star', 'untrusted'],
  ['a pipe', 'pipe.star', 'usage'],
  ['a file that does not exist', 'none.star', 'not-found'],
  ['a script that is too large', 'large.star', 'too-large'],
])('refuses %s', async (_, name, code) => {
  await expect(read(name)).rejects.toMatchObject({ code });
});
