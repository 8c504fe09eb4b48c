import type { Source } from '@krmhub/api/model';
import { escapeControls } from '@krmhub/schema/text';
import { type Io, terminalWidth, write } from '../../io/io.js';
import { printTable } from '../../io/print.js';
import { relativeTime } from '../../io/time.js';
import { wrapText } from '../../io/wrap-text.js';
import { hintFor } from './source-hints.js';

const COLUMNS = [
  { header: 'CATALOG', min: 8 },
  { header: 'SOURCE', min: 8 },
  { header: 'STATE' },
  { header: 'ENTRIES' },
  { header: 'CHANGED' },
  { header: 'POLLED' },
  { header: 'URL', min: 16 },
];

/** Prints sources as a table; without a terminal, as lines with all fields. */
export async function printSources(io: Io, sources: readonly Source[]): Promise<void> {
  if (sources.length === 0) return;
  const now = io.now();
  const ago = (time: string | undefined) => (time === undefined ? '-' : relativeTime(time, now));
  await printTable(io, COLUMNS, sources, {
    terminal: ({ catalog, source, state, copy, checkedAt, url }) => [
      catalog,
      source,
      state,
      copy === undefined ? '-' : String(copy.entries),
      ago(copy?.fetchedAt),
      ago(checkedAt),
      url,
    ],
    pipe: ({ catalog, source, state, copy, checkedAt, url, failingSince, problem, message }) => [
      catalog,
      source,
      state,
      copy === undefined ? '' : String(copy.entries),
      copy?.fetchedAt ?? '',
      checkedAt ?? '',
      url,
      failingSince ?? '',
      problem ?? '',
      message ?? '',
    ],
  });
}

/** Prints the problems of sources in full, below the table of a terminal. */
export async function printProblems(io: Io, sources: readonly Source[]): Promise<void> {
  if (io.stdout.isTTY !== true) return;
  const now = io.now();
  const width = terminalWidth(io.stdout);
  const indented = (text: string) => wrapText(escapeControls(text), width - 2).map((line) => `  ${line}`);
  const lines = sources.flatMap((source) => {
    const { problem, message = '', failingSince } = source;
    if (problem === undefined) return [];
    const since = failingSince === undefined ? '' : `, first failed ${relativeTime(failingSince, now)}`;
    return [
      `${source.catalog}/${source.source}: ${problem}${since}`,
      ...indented(source.url),
      ...indented(message),
      ...indented(`hint: ${hintFor(source, now)}`),
    ];
  });
  if (lines.length > 0) await write(io.stdout, `\n${lines.join('\n')}\n`);
}
