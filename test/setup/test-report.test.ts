import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { finished, spawn } from '../processes.js';
import { root } from '../running.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-report-'));
afterAll(() => rmSync(folder, { recursive: true }));

const report = path.join(folder, 'sample.jsonl');
const script = path.join(root, 'scripts/test-report.mjs');

/** Runs vitest with test files that say what their names say. */
function run(files: Record<string, string>) {
  rmSync(report, { force: true });
  const names = Object.keys(files).map((name) => `${name}.test.js`);
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, `${name}.test.js`), text);
  writeFileSync(
    path.join(folder, 'vitest.config.mjs'),
    `import { TestReporter } from '${script}';
     export default { test: { name: 'sample', globals: true, maxWorkers: 2, include: ${JSON.stringify(names)},
       reporters: [new TestReporter('${report}')] } };`,
  );
  return spawn(process.execPath, [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run'], {
    cwd: folder,
    stdio: 'ignore',
  });
}

/** The counts that are printed, and the failures that are named. */
async function count() {
  const { stdout, stderr } = await finished(
    spawn(process.execPath, [script, folder, 'sample'], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  return { counts: stdout, failures: stderr };
}

it('counts the tests of a run, and names the failed ones', async () => {
  await once(
    run({
      mixed: `describe('group', () => {
        it('passes', () => {});
        it('fails', () => expect(1).toBe(2));
        it.skip('is skipped', () => {});
      });`,
      broken: `throw new Error('broken file'); it('never runs', () => {});`,
      unclean: `it('passes', () => {}); describe('group', () => { it('too', () => {}); afterAll(() => { throw new Error('not removed'); }) });`,
    }),
    'close',
  );
  const { counts, failures } = await count();
  expect(counts).toBe('3 3 1\n');
  expect(failures).toMatch(/^FAIL sample: sample: mixed.test.js: group > fails\n.*expected 1 to be 2/m);
  expect(failures).toMatch(/^FAIL sample: sample: broken.test.js\n.*broken file/m);
  expect(failures).toMatch(/^FAIL sample: sample: unclean.test.js\n.*not removed/m);
});

it('counts what ended before a run was killed, and names the files that did not end', async () => {
  const running = run({
    quick: `it('passes', () => {});`,
    stuck: `it('passes', () => {}); it('hangs', () => new Promise(() => {}), 600_000);`,
  });
  await expect
    .poll(() => (existsSync(report) ? readFileSync(report, 'utf8').match(/"state":"passed"/g)?.length : 0))
    .toBe(3);
  const closed = once(running, 'close');
  running.kill('SIGKILL');
  await closed;
  expect(await count()).toEqual({
    counts: '2 1 0\n',
    failures: expect.stringMatching(
      /^FAIL sample: stopped before these files ended:\nsample: stuck.test.js$/m,
    ),
  });
});

it('counts a run without a report as one failure', async () => {
  rmSync(report, { force: true });
  expect(await count()).toMatchObject({ counts: '0 1 0\n', failures: expect.stringContaining('no report') });
});
