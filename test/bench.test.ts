import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { benchCommands } from './bench-commands.js';
import { finished, spawn, spawnSync } from './processes.js';
import { cleanEnvironment, type Finished, root, temporaryFolder } from './running.js';

/** Tests the built bench. Nothing here checks speed: a test must not fail because a machine is slow. */

interface Results {
  machine: string;
  lines: { row: string; what: string; beside?: string; target?: unknown; figures: Record<string, number> }[];
}

const rows = [
  'lint',
  'signing',
  'starlark',
  'http',
  'search',
  'access',
  'publish',
  'visible',
  'catalogs',
  'sparse',
  'aggregate',
  'artifacts',
  'engines',
  'pages',
  'start',
  'executable',
  'resolve',
  'outdated',
  'plugin',
  'build',
  'fn',
  'memory',
  'growth',
];

async function bench(args: readonly string[], cwd: string): Promise<Finished> {
  const child = spawn(process.execPath, [path.join(root, 'bench/dist/main.js'), ...args], {
    cwd,
    env: cleanEnvironment(cwd),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return finished(child);
}

describe('bench', () => {
  it('measures every row, and writes the table into a document', async () => {
    const { folder, remove } = temporaryFolder();
    try {
      copyFileSync(path.join(root, 'bench/performance.md'), path.join(folder, 'performance.md'));
      const files = ['--folder', 'kept', '--json', 'results.json', '--write', 'performance.md'];
      const { code, stdout, stderr } = await bench(['--quick', '--load', 'node', ...files], folder);
      expect(code, stderr).toBe(0);
      const { machine, lines } = JSON.parse(
        readFileSync(path.join(folder, 'results.json'), 'utf8'),
      ) as Results;
      expect(machine).toContain(process.versions.node);
      expect([...new Set(lines.map(({ row }) => row))]).toEqual(rows);
      for (const { row, what, beside, figures, target } of lines) {
        if (what === 'not measured') {
          expect(
            ['artifacts', 'engines', 'pages', 'executable', 'build', 'fn'],
            'only these rows need programs that may be missing',
          ).toContain(row);
          expect(beside).toMatch(
            /(docker-registry|PostgreSQL|versitygw|Chromium|kubectl|kpt) is not installed|no executable/,
          );
          continue;
        }
        expect(Object.keys(figures), `${row} ${what}`).not.toEqual([]);
        for (const [name, figure] of Object.entries(figures))
          expect(figure, `${row} ${what} ${name}`).not.toBeNaN();
        expect(target, 'one short round has no targets').toBeUndefined();
      }
      const publish = lines.find(({ what }) => what === 'one publish, on the process that accepts it');
      if (publish !== undefined) {
        expect(publish.figures.statements).toBeGreaterThan(0);
        expect(publish.figures.puts).toBeGreaterThan(0);
        const month = lines.find(({ what }) => what === 'a month: S3 PUT, POST, and LIST');
        expect(month!.figures.putsOfMonth, 'of 1,000 publishes a day').toBeGreaterThanOrEqual(30_000);
      }
      const document = readFileSync(path.join(folder, 'performance.md'), 'utf8');
      for (const { what } of lines) {
        expect(document).toContain(what);
        expect(stdout).toContain(what);
      }
      const joined = await bench(['--from', 'results.json', '--json', 'joined.json'], folder);
      expect(joined.code, joined.stderr).toBe(0);
      expect(JSON.parse(readFileSync(path.join(folder, 'joined.json'), 'utf8'))).toEqual({ machine, lines });
    } finally {
      remove();
    }
  }, 1_200_000);

  it.skipIf(spawnSync('wrk', ['--version']).error !== undefined)(
    'loads with wrk (skipped if it is not installed)',
    async () => {
      const { folder, remove } = temporaryFolder();
      try {
        const args = [
          '--quick',
          '--load',
          'wrk',
          '--only',
          'sparse',
          '--folder',
          'kept',
          '--json',
          'results.json',
        ];
        const { code, stderr } = await bench(args, folder);
        expect(code, stderr).toBe(0);
        const { lines } = JSON.parse(readFileSync(path.join(folder, 'results.json'), 'utf8')) as Results;
        expect(lines[0]!.figures.entriesPerSecond).toBeGreaterThan(0);
        expect(lines[0]!.figures.notModifiedPerSecond).toBeGreaterThan(0);
      } finally {
        remove();
      }
    },
  );

  it('replaces the tables of the rows that it measured', async () => {
    const { folder, remove } = temporaryFolder();
    try {
      copyFileSync(path.join(root, 'bench/performance.md'), path.join(folder, 'performance.md'));
      const before = readFileSync(path.join(folder, 'performance.md'), 'utf8');
      const end = '<!-- bench:end -->';
      const removed = `### a row that does not exist any more\n\n| a figure |\n\n${end}`;
      writeFileSync(path.join(folder, 'performance.md'), before.replace(end, removed));
      // JSON has no infinity: the file has null.
      const ratio = { median: 1.5, low: 1.5, high: Number.POSITIVE_INFINITY };
      const figures = { milliseconds: 1 };
      const line = { row: 'lint', node: '20.1.2', what: 'a new figure', ours: '1 ms', ratio, figures };
      writeFileSync(path.join(folder, 'lint.json'), JSON.stringify({ machine: 'another', lines: [line] }));
      const { code, stderr } = await bench(['--from', 'lint.json', '--write', 'performance.md'], folder);
      expect(code, stderr).toBe(0);
      const after = readFileSync(path.join(folder, 'performance.md'), 'utf8');
      const others = (text: string) => text.split('### ').filter((section) => !/^lint |^# /.test(section));
      expect(others(after)).toEqual(others(before));
      expect(after).toContain('\n\nanother\n\n### lint');
      expect(after.match(/^\| a new figure \|.*$/gm)).toEqual(['| a new figure | 1 ms | 1.50 (1.50–∞) |']);
      expect(after).not.toContain('10000 definitions');
    } finally {
      remove();
    }
  });

  it('shows the figures of each version of Node.js beside each other', async () => {
    const { folder, remove } = temporaryFolder();
    try {
      copyFileSync(path.join(root, 'bench/performance.md'), path.join(folder, 'performance.md'));
      const line = (node: string, what: string, median: number, met?: boolean) => ({
        ...{ row: 'lint', node, what, ours: `${median} ms`, against: `peer of ${node}` },
        ...{ ratio: { median, low: median, high: median }, figures: { milliseconds: median } },
        ...(met === undefined ? {} : { target: { text: '≤ 2×', met } }),
      });
      const missing = { row: 'lint', node: '24.0.0', what: 'not measured', ours: '–', figures: {} };
      const files = {
        'old.json': [line('20.1.0', 'slow', 8), line('20.1.0', 'only one', 1, true)],
        'twenty.json': [line('20.2.0', 'slow', 3, false), line('20.2.0', 'fast', 1, true)],
        'missing.json': [missing],
        'later.json': [line('24.3.0', 'slow', 2, true), line('24.3.0', 'fast', 2, true)],
      };
      for (const [name, lines] of Object.entries(files))
        writeFileSync(path.join(folder, name), JSON.stringify({ machine: 'one', lines }));
      const { code, stdout, stderr } = await bench(
        ['--from', Object.keys(files).join(','), '--write', 'performance.md', '--json', 'joined.json'],
        folder,
      );
      expect(code, stderr).toBe(0);
      const table = readFileSync(path.join(folder, 'performance.md'), 'utf8')
        .split(/^### /m)
        .find((section) => section.startsWith('lint '));
      expect(table!.match(/^\|.*$/gm)).toEqual([
        '| measurement | krmhub, Node.js 20 | peer | ratio | krmhub, Node.js 24 | ratio | target | met |',
        '| --- | --- | --- | --- | --- | --- | --- | --- |',
        '| slow | 3 ms | peer of 20.2.0 | 3.00 (3.00–3.00) | 2 ms | 2.00 (2.00–2.00) | ≤ 2× | 20: no, 24: yes |',
        '| only one | 1 ms | peer of 20.1.0 | 1.00 (1.00–1.00) | – | – | ≤ 2× | yes |',
        '| fast | 1 ms | peer of 20.2.0 | 1.00 (1.00–1.00) | 2 ms | 2.00 (2.00–2.00) | ≤ 2× | yes |',
      ]);
      expect(stdout).toContain('krmhub, Node.js 24');
      const { lines } = JSON.parse(readFileSync(path.join(folder, 'joined.json'), 'utf8')) as Results;
      expect(lines).toHaveLength(5);
    } finally {
      remove();
    }
  });

  it('accepts every command of its document', async () => {
    const commands = benchCommands();
    expect(commands.length).toBeGreaterThan(2);
    for (const command of commands) {
      const args = command.split(' ').slice('npm run bench --'.split(' ').length);
      const { code, stderr } = await bench([...args, '--list'], root);
      expect(code, `${command}: ${stderr}`).toBe(0);
    }
  });

  it.each([
    [['--only', 'serach'], 'unknown row serach'],
    [['--sizes', '0'], '--sizes: "0"'],
    [['--load', 'ab'], '--load: "ab"'],
    [['--fast'], '--fast'],
  ])('refuses %j', async (args, reason) => {
    const { code, stderr } = await bench(args, root);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });
});
