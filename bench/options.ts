import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './built.js';
import type { Effort } from './row.js';
import type { LoadTool } from './tools.js';

export interface Options {
  /** Rows in the order of the table. */
  rows: string[];
  /** Functions in the registry. */
  sizes: number[];
  effort: Effort;
  load?: LoadTool;
  /** Folder that caches filled registries. */
  folder: string;
  /** Seconds that the first build may take. */
  buildSeconds: number;
  /** Files with earlier results. */
  from: string[];
  json?: string;
  write?: string;
  list: boolean;
  help: boolean;
}

export const HELP = `Measures krmhub against peers in the same run and shows the ratios.

  npm run bench                              1,000 and 10,000 functions
  npm run bench -- --full                    100,000 too; takes an hour or more
  npm run bench -- --only search,http --sizes 1000
  npm run bench -- --json results.json --write bench/performance.md
  npm run bench -- --from a.json,b.json --write bench/performance.md

  --only ROWS        rows to measure, with commas
  --sizes COUNTS     functions in the registry, with commas
  --full             every size, however long it takes
  --quick            one short round, without targets: checks that the bench works
  --rounds COUNT     rounds of each measurement, 5 by default
  --load wrk|node    program that makes load; wrk if it is installed
  --folder FOLDER    folder that caches filled registries, .bench by default
  --cut-seconds N    how long the first build may take, 900 by default
  --json FILE        writes the results as JSON
  --from FILES       shows results of earlier runs beside those of this one, also with another Node.js;
                     measures only what --only names
  --write FILE       puts the tables of measured rows between the markers of a document
  --list             lists what would be measured
`;

/** Parses the arguments; throws an Error that describes the first problem. */
export function readOptions(args: readonly string[], rowNames: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      sizes: { type: 'string' },
      full: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      load: { type: 'string' },
      folder: { type: 'string' },
      'cut-seconds': { type: 'string', default: '900' },
      from: { type: 'string' },
      json: { type: 'string' },
      write: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { full, quick } = values;
  const from = values.from?.split(',') ?? [];
  const rows = values.only?.split(',') ?? (from.length > 0 ? [] : [...rowNames]);
  const unknown = rows.filter((row) => !rowNames.includes(row));
  if (unknown.length > 0)
    throw new Error(`--only: unknown row ${unknown.join(', ')}; rows are ${rowNames.join(', ')}`);
  if (values.load !== undefined && values.load !== 'wrk' && values.load !== 'node') {
    throw new Error(`--load: "${values.load}" must be wrk or node`);
  }
  const usual = quick ? '100' : full ? '1000,10000,100000' : '1000,10000';
  return {
    rows: rowNames.filter((row) => rows.includes(row)),
    sizes: (values.sizes ?? usual).split(',').map((text) => count('--sizes', text)),
    effort: {
      rounds: count('--rounds', values.rounds ?? (quick ? '1' : '5')),
      milliseconds: quick ? 150 : 1_000,
      full,
      quick,
    },
    ...(values.load === undefined ? {} : { load: values.load }),
    folder: path.resolve(values.folder ?? path.join(root, '.bench')),
    buildSeconds: count('--cut-seconds', values['cut-seconds']),
    from,
    ...(values.json === undefined ? {} : { json: values.json }),
    ...(values.write === undefined ? {} : { write: values.write }),
    list: values.list,
    help: values.help,
  };
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new Error(`${option}: "${text}" must be a whole number above 0`);
  return Number(text);
}
