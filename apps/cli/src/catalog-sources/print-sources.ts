import type { Source } from '@krmhub/api/model';
import type { Io } from '../io.js';
import { printTable } from '../output/print.js';
import { relativeTime } from '../output/time.js';

const COLUMNS = [
  { header: 'CATALOG', min: 8 },
  { header: 'SOURCE', min: 8 },
  { header: 'STATE' },
  { header: 'ENTRIES' },
  { header: 'LAST SUCCESS' },
  { header: 'PROBLEM', min: 12 },
];

/** Sources in a table; for a program also the whole of what is wrong. */
export async function printSources(io: Io, sources: readonly Source[]): Promise<void> {
  const now = io.now();
  const cells = (source: Source, time: (text: string) => string, none: string) => [
    source.catalog,
    source.source,
    source.state,
    source.copy === undefined ? none : String(source.copy.entries),
    successOf(source, time) ?? none,
    problemOf(source),
  ];
  await printTable(io, COLUMNS, sources, {
    terminal: (source) => cells(source, (text) => relativeTime(text, now), '-'),
    pipe: (source) => cells(source, (text) => text, ''),
  });
}

/** Of one that fails now, the last that changed something: others are not remembered. */
function successOf({ state, checkedAt, copy }: Source, time: (text: string) => string): string | undefined {
  const at = state === 'current' ? checkedAt : copy?.fetchedAt;
  return at === undefined ? undefined : time(at);
}

function problemOf({ problem, message, checkedAt }: Source): string {
  if (problem !== undefined) return `${problem}: ${message ?? ''}`;
  return checkedAt === undefined ? 'not asked yet' : '';
}
