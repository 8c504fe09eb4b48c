import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';

const document = path.join(root, 'docs/internals/conformance.md');
/** Files that test the registry, by area; the others test the parts that these use. */
const AREAS: Record<string, readonly string[]> = {
  authentication: ['auth.test.ts'],
  pull: ['pull.test.ts'],
  push: ['push-blobs.test.ts', 'push-mounts.test.ts', 'push-manifests.test.ts'],
  'content discovery': ['content-discovery.test.ts'],
  'content management': ['content-management.test.ts'],
};
const SUPPORT = ['command.test.ts', 'document.test.ts', 'oci-requests.test.ts'];

/** Counts the tests that each file declares, without running them. */
function declaredTests(): Map<string, number> {
  const { folder, remove } = temporaryFolder();
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const list = path.join(folder, 'tests.json');
  const { status, stderr } = spawnSync(
    process.execPath,
    [vitest, 'list', 'test/conformance', `--json=${list}`],
    {
      cwd: root,
      env: cleanEnvironment(folder),
      encoding: 'utf8',
    },
  );
  expect(status, stderr).toBe(0);
  const tests = JSON.parse(readFileSync(list, 'utf8')) as { file: string }[];
  remove();
  const counts = new Map<string, number>();
  // The files below check bundles against another specification.
  const own = tests.filter(({ file }) => path.dirname(file) === path.join(root, 'test/conformance'));
  for (const { file } of own) counts.set(path.basename(file), (counts.get(path.basename(file)) ?? 0) + 1);
  return counts;
}

it('docs/internals/conformance.md has the current number of tests (UPDATE=1 writes it)', () => {
  const counts = declaredTests();
  expect([...counts.keys()].sort()).toEqual([...Object.values(AREAS).flat(), ...SUPPORT].sort());
  const rows = Object.entries(AREAS).map(([area, files]) => {
    const tests = files.reduce((sum, file) => sum + counts.get(file)!, 0);
    return { tests, text: `| ${area} | ${files.map((file) => `\`${file}\``).join(', ')} | ${tests} |\n` };
  });
  const total = rows.reduce((sum, { tests }) => sum + tests, 0);
  const text = readFileSync(document, 'utf8');
  const said = /(\| area \|.*\n\|(?:-+\|)+\n)(?:\|.*\n)+/.exec(text);
  const expected = text.replace(
    said![0],
    `${said![1]}${rows.map((row) => row.text).join('')}| together | | ${total} |\n`,
  );
  if (process.env.UPDATE === '1') writeFileSync(document, expected);
  else expect(text).toBe(expected);
});
