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
function run(files: Record<string, string>, ...options: string[]) {
  rmSync(report, { force: true });
  const names = Object.keys(files).map((name) => `${name}.test.js`);
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, `${name}.test.js`), text);
  writeFileSync(
    path.join(folder, 'vitest.config.mjs'),
    `import { TestReporter } from '${script}';
     export default { test: { name: 'sample', globals: true, maxWorkers: 2, include: ${JSON.stringify(names)},
       reporters: [new TestReporter('${report}')] } };`,
  );
  return spawn(process.execPath, [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...options], {
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
  // Vitest collects results for 100 ms, and can lose the last ones if no other follows. It sends that of a longer test.
  const passes = `it('passes', () => new Promise((resolve) => setTimeout(resolve, 300)));`;
  const running = run({
    quick: passes,
    stuck: `${passes} it('hangs', () => new Promise(() => {}), 600_000);`,
  });
  await expect
    .poll(() => (existsSync(report) ? readFileSync(report, 'utf8').match(/"state":"passed"/g)?.length : 0))
    .toBe(3);
  // Its worker can live on for a while, with the pipes of the killed process.
  const ended = once(running, 'exit');
  running.kill('SIGKILL');
  await ended;
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

it('counts the files of a shard alone', async () => {
  await once(
    run({ one: `it('passes', () => {});`, other: `it('passes', () => {});` }, '--shard=1/2'),
    'close',
  );
  expect((await count()).counts).toBe('1 0 0\n');
});

const planned = { planned: ['a', 'b'] };
const passed = (file: string) => [
  { file, test: 'x {y}', state: 'passed', messages: [] },
  { file, state: 'passed', seconds: 1, messages: [] },
];
const end = { end: 'passed', messages: [] };
const whole = [planned, ...passed('a'), ...passed('b'), end];
const text = (lines: object[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

it.each([
  ['is whole', text(whole), '2 0 0', ''],
  ['was cut in its last line', text(whole).slice(0, -5), '2 1 0', 'stopped before'],
  [
    'was cut after a brace',
    `${text([planned, ...passed('a')])}{"file":"b","test":"x {y}`,
    '1 1 0',
    'stopped before these files ended:\nb\n',
  ],
  ['has a line that was cut', `{"file":"a","te\n${text(whole)}`, '2 1 0', 'the report is not whole'],
  ['lacks its first line', text(whole.slice(1)), '2 1 0', 'the report is not whole'],
  [
    'lacks a planned file',
    text([planned, ...passed('a'), end]),
    '1 1 0',
    'stopped before these files ended:\nb\n',
  ],
  ['has no tests', text([{ planned: [] }, end]), '0 1 0', 'no tests'],
  [
    'has a test that did not end',
    text([...whole.slice(0, -1), { file: 'a', test: 'z', state: 'pending' }, end]),
    '2 1 0',
    'a: z',
  ],
])('counts a report that %s', async (_, lines, counts, failure) => {
  writeFileSync(report, lines);
  const counted = await count();
  expect(counted.counts).toBe(`${counts}\n`);
  expect(counted.failures).toContain(failure && `FAIL sample: ${failure}`);
});
