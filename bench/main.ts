import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { Folders } from './folders.js';
import { CONNECTIONS } from './load.js';
import { HELP, type Options, readOptions } from './options.js';
import { type Bench, type Line, type Row, Unmeasured } from './row.js';
import { access } from './rows/access.js';
import { aggregate } from './rows/aggregate.js';
import { artifacts } from './rows/artifacts.js';
import { build } from './rows/build.js';
import { catalogs } from './rows/catalogs.js';
import { engines } from './rows/engines.js';
import { executable } from './rows/executable.js';
import { fn } from './rows/fn.js';
import { growth } from './rows/growth.js';
import { http } from './rows/http.js';
import { lint } from './rows/lint.js';
import { memory } from './rows/memory.js';
import { outdated } from './rows/outdated.js';
import { pages } from './rows/pages.js';
import { plugin } from './rows/plugin.js';
import { publish } from './rows/publish.js';
import { resolve } from './rows/resolve.js';
import { search } from './rows/search.js';
import { signing } from './rows/signing.js';
import { sparse } from './rows/sparse.js';
import { starlark } from './rows/starlark.js';
import { start } from './rows/start.js';
import { visible } from './rows/visible.js';
import { joined, type Results, textTable, withTables } from './table.js';
import { findTools, type Tools } from './tools.js';

const ROWS: Row[] = [
  lint,
  signing,
  starlark,
  http,
  search,
  access,
  publish,
  visible,
  catalogs,
  sparse,
  aggregate,
  artifacts,
  engines,
  pages,
  start,
  executable,
  resolve,
  outdated,
  plugin,
  build,
  fn,
  memory,
  growth,
];
const NAMES = ROWS.map(({ name }) => name);
const TITLES = new Map(ROWS.map(({ name, title }) => [name, title]));

process.exitCode = await main();

async function main(): Promise<number> {
  let options: Options;
  try {
    options = readOptions(process.argv.slice(2), NAMES);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nrun npm run bench -- --help\n`);
    return 2;
  }
  if (options.help) process.stdout.write(HELP);
  else if (options.list) process.stdout.write(plan(options));
  else return run(options);
  return 0;
}

function plan({ rows, sizes }: Options): string {
  return rows.map((row) => `${row}: ${TITLES.get(row)}, ${sizes.join(', ')} functions\n`).join('');
}

/** JSON writes an infinite ratio as null. */
function infinite(_key: string, value: unknown): unknown {
  return value === null ? Number.POSITIVE_INFINITY : value;
}

async function run(options: Options): Promise<number> {
  const earlier = await Promise.all(
    options.from.map(async (file) => JSON.parse(await readFile(file, 'utf8'), infinite) as Results),
  );
  const measured = options.rows.length > 0 ? [await measure(options)] : [];
  const results = joined([...earlier, ...measured.map(({ results }) => results)], NAMES);
  process.stdout.write(textTable(results, TITLES));
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(results, undefined, 2)}\n`);
  if (options.write !== undefined) {
    const document = await readFile(options.write, 'utf8');
    await writeFile(options.write, withTables(document, results, TITLES));
  }
  return measured.some(({ failed }) => failed) ? 1 : 0;
}

/** Runs every row at every size. The table shows the failure of a row, and the other rows still run. */
async function measure(options: Options): Promise<{ results: Results; failed: boolean }> {
  const report = (text: string) => process.stderr.write(`${text}\n`);
  const tools = findTools(options.load);
  const folders = new Folders({ base: options.folder, tools, allowedSeconds: options.buildSeconds, report });
  const bench: Bench = { effort: options.effort, tools, folders, report };
  const lines: Line[] = [];
  let failed = false;
  for (const row of ROWS.filter(({ name }) => options.rows.includes(name))) {
    for (const functions of options.sizes) {
      try {
        lines.push(...(await row.run(bench, functions)));
      } catch (error) {
        const why = (error as Error).message;
        if (!(error instanceof Unmeasured)) {
          failed = true;
          report(`${row.name} at ${functions} functions failed: ${(error as Error).stack}`);
        }
        lines.push({
          row: row.name,
          what: 'not measured',
          functions,
          ours: '–',
          beside: why.split('\n')[0]!,
          figures: {},
        });
      } finally {
        await folders.removeCopies();
      }
    }
  }
  const { node } = process.versions;
  return {
    results: { machine: describeMachine(tools), lines: lines.map((line) => ({ ...line, node })) },
    failed,
  };
}

function describeMachine(tools: Tools): string {
  const load = tools.load === 'wrk' ? 'wrk' : 'a Node process, which may be slower than the server';
  return [
    `${availableParallelism()} cores`,
    `${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
    `${process.platform} ${process.arch}`,
    `Node.js ${process.versions.node}`,
    `load of GETs by ${load}, ${CONNECTIONS} connections`,
    tools.pinned ? 'server and load on separate cores.' : 'server and load share the cores.',
  ].join(', ');
}
