import { REFUSAL_CODES, type RefusalCode, type ReportedSource, type SnapshotReport } from '@krmhub/schema';
import { escapeControls, plural } from '@krmhub/schema/text';
import { type Io, terminalWidth, write } from '../io/io.js';
import { bold, printLine, printWarning } from '../io/print.js';
import { pipeTable, terminalTable } from '../io/table.js';
import { wrapText } from '../io/wrap-text.js';

type Refused = NonNullable<SnapshotReport['refused']>[number];

/** The counts of a report. */
export interface ReportCounts {
  /** Upstream catalogs, and those of them that are not current. */
  sources: number;
  failing: number;
  refused: number;
  /** Refusals by code; an entry can have several. */
  codes: ReadonlyMap<RefusalCode, number>;
  shadowed: number;
  yanked: number;
  invalid: number;
  /** Entries that defaults of the recipe completed. */
  completed: number;
  warnings: number;
}

export function reportCounts({ sources = [], refused = [], shadowed, yanked }: SnapshotReport): ReportCounts {
  return {
    sources: sources.length,
    failing: sources.filter(({ state }) => state !== 'current').length,
    refused: refused.length,
    codes: codeCounts(refused),
    shadowed: shadowed.length,
    yanked: yanked.length,
    invalid: sources.reduce((sum, { invalidEntries }) => sum + invalidEntries, 0),
    completed: sources.reduce((sum, { completedEntries = 0 }) => sum + completedEntries, 0),
    warnings: sources.reduce((sum, { warnings = [] }) => sum + warnings.length, 0),
  };
}

/** Counts refusals by code, in the order of the codes. */
export function codeCounts(refused: readonly Pick<Refused, 'reasons'>[]): Map<RefusalCode, number> {
  const codes = new Map<RefusalCode, number>();
  for (const wanted of REFUSAL_CODES) {
    const count = refused.flatMap(({ reasons }) => reasons).filter(({ code }) => code === wanted).length;
    if (count > 0) codes.set(wanted, count);
  }
  return codes;
}

/** Formats the counts that are not zero, for example `2 refused (1 claim, 1 denied), 1 shadowed`. */
export function countsLine(counts: ReportCounts): string {
  const only = counts.codes.size === 1;
  const codes = [...counts.codes].map(([code, count]) => (only ? code : `${count} ${code}`)).join(', ');
  const parts = [
    ...(counts.failing === 0 ? [] : [`${counts.failing} of ${plural(counts.sources, 'source')} not current`]),
    ...(counts.refused === 0 ? [] : [`${counts.refused} refused (${codes})`]),
    ...(counts.shadowed === 0 ? [] : [`${counts.shadowed} shadowed`]),
    ...(counts.yanked === 0 ? [] : [`${counts.yanked} yanked`]),
    ...(counts.invalid === 0 ? [] : [`${counts.invalid} invalid`]),
  ];
  const notes = [
    ...(counts.completed === 0 ? [] : [`${counts.completed} completed by defaults`]),
    ...(counts.warnings === 0 ? [] : [plural(counts.warnings, 'warning')]),
  ];
  return [...(parts.length === 0 ? ['no entries excluded'] : parts), ...notes].join(', ');
}

export function isComplete({ failing, refused, shadowed, yanked, invalid }: ReportCounts): boolean {
  return failing + refused + shadowed + yanked + invalid === 0;
}

/** Warns that a catalog with upstream sources is empty, with the reason and what to write instead. */
export async function warnEmpty(
  io: Io,
  counts: ReportCounts,
  sources: readonly ReportedSource[] = [],
): Promise<void> {
  const [reason, hint] = emptyReason(counts, sources);
  await printWarning(io, escapeControls(`the catalog is empty: ${reason}`));
  if (hint !== undefined) await printLine(io, `  hint: ${hint}`);
}

function emptyReason(
  { sources: all, failing, refused, codes }: ReportCounts,
  sources: readonly ReportedSource[],
): [reason: string, hint?: string] {
  if (refused > 0) {
    const young = codes.has('minimum-age') ? '; the report shows when the entries reach the minimum age' : '';
    return [`the recipe policy rejects every entry${young}`];
  }
  if (all > 0 && failing === all) return ['no upstream catalog is available'];
  const broken = sources.find(({ invalid }) => invalid.length > 0);
  const first = broken?.invalid[0];
  if (broken === undefined || first === undefined) return ['the recipe selects no entry of its sources'];
  const count = plural(broken.invalidEntries, 'entry', 'entries');
  return [
    `${count} of ${broken.source} ${broken.invalidEntries === 1 ? 'is' : 'are'} invalid; the first: ${first.message}`,
    invalidHint(first.message),
  ];
}

/** Says what to write in the recipe. */
function invalidHint(message: string): string {
  if (/the release is unknown/.test(message)) {
    return 'Take the releases from the tags of the repository: add `releases: tags` to the source, and remove `?ref=…` from its URL. To use one release, set `?ref=TAG`.';
  }
  return /missing/.test(message)
    ? 'To complete entries of the source, add `defaults: {}` to it, or the values of the missing fields.'
    : 'Ask the publisher of the source to correct it.';
}

/** Prints a report by section; without a terminal, as tab-separated lines that start with the section. */
export async function printReport(io: Io, report: SnapshotReport): Promise<void> {
  if (io.stdout.isTTY !== true) {
    return write(
      io.stdout,
      pipeTable(pipeRows(report))
        .map((line) => `${line}\n`)
        .join(''),
    );
  }
  const width = terminalWidth(io.stdout);
  const sections = reportSections(report, width).filter(({ lines }) => lines.length > 0);
  const text = sections.map(({ heading, lines }) => [bold(io, heading), ...lines].join('\n')).join('\n\n');
  if (text !== '') await write(io.stdout, `${text}\n`);
}

interface Section {
  heading: string;
  lines: string[];
}

function reportSections(report: SnapshotReport, width: number): Section[] {
  const { sources = [], refused = [], shadowed, yanked } = report;
  const claims = refused.filter(isClaim);
  const table = (columns: Parameters<typeof terminalTable>[0], rows: string[][]) =>
    rows.length === 0 ? [] : terminalTable(columns, rows, width - INDENT).map((line) => `  ${line}`);
  return [
    {
      heading: 'Sources',
      lines: table(
        [
          { header: 'SOURCE', min: 8 },
          { header: 'STATE' },
          { header: 'SNAPSHOT' },
          { header: 'INVALID' },
          { header: 'URL', min: 20 },
        ],
        sources.map(({ source, state, serial, invalidEntries, url }) => [
          source,
          state,
          serial === undefined ? '-' : String(serial),
          String(invalidEntries),
          url,
        ]),
      ).concat(
        sources.flatMap(({ source, reason, warning }) =>
          [reason, warning].flatMap((text) =>
            text === undefined ? [] : indent(`${source}: ${text}`, width),
          ),
        ),
      ),
    },
    {
      heading: 'Claims of groups that belong to another source',
      lines: claims.flatMap((one) => refusedLines(one, width)),
    },
    {
      heading: 'Refused',
      lines: refused.filter((one) => !isClaim(one)).flatMap((one) => refusedLines(one, width)),
    },
    {
      heading: 'Shadowed',
      lines: table(
        [
          { header: 'FUNCTION', min: 16 },
          { header: 'VERSION' },
          { header: 'SOURCE', min: 8 },
          { header: 'SHADOWED BY', min: 8 },
        ],
        shadowed.map((one) => [functionName(one), one.version, releaseText(one), releaseText(one.by)]),
      ),
    },
    {
      heading: 'Yanked',
      lines: table(
        [{ header: 'FUNCTION', min: 16 }, { header: 'RELEASE' }, { header: 'SOURCE', min: 8 }],
        yanked.map((one) => [functionName(one), one.release, one.source]),
      ),
    },
    { heading: 'Invalid entries', lines: sources.flatMap((one) => invalidLines(one, width)) },
    {
      heading: 'Entries completed by defaults',
      lines: sources.flatMap((one) => completedLines(one, width)),
    },
    {
      heading: 'Warnings',
      lines: sources.flatMap(({ source, warnings = [] }) =>
        warnings.flatMap(({ message }) => indent(`${source}: ${message}`, width, INDENT)),
      ),
    },
  ];
}

const INDENT = 2;

function isClaim({ reasons }: Refused): boolean {
  return reasons.some(({ code }) => code === 'claim');
}

function refusedLines(refused: Refused, width: number): string[] {
  return [
    ...indent(`${functionName(refused)} ${refused.version} from ${releaseText(refused)}`, width, INDENT),
    ...refused.reasons.flatMap(({ code, message }) => indent(`${code}: ${message}`, width)),
  ];
}

function invalidLines(
  { source, invalid, invalidEntries }: NonNullable<SnapshotReport['sources']>[number],
  width: number,
): string[] {
  const more = invalidEntries - invalid.length;
  return [
    ...invalid.flatMap(({ entry, group, kind, message }) => {
      const name = group === undefined || kind === undefined ? '' : ` ${group}/${kind}`;
      return [...indent(`${source}, entry ${entry}${name}`, width, INDENT), ...indent(message, width)];
    }),
    ...(more <= 0 ? [] : [`  ${source}: and ${more} more`]),
  ];
}

function completedLines(
  { source, completed = [], completedEntries = 0 }: NonNullable<SnapshotReport['sources']>[number],
  width: number,
): string[] {
  const more = completedEntries - completed.length;
  return [
    ...completed.flatMap(({ entry, group, kind, fields }) =>
      indent(`${source}, entry ${entry} ${group}/${kind}: ${fields.join(', ')}`, width, INDENT),
    ),
    ...(more <= 0 ? [] : [`  ${source}: and ${more} more`]),
  ];
}

function indent(text: string, width: number, by = 2 * INDENT): string[] {
  return wrapText(escapeControls(text), width - by).map((line) => ' '.repeat(by) + line);
}

function pipeRows({ sources = [], refused = [], shadowed, yanked }: SnapshotReport): string[][] {
  const ordered = [...refused.filter(isClaim), ...refused.filter((one) => !isClaim(one))];
  return [
    ...sources.map(({ source, state, serial, invalidEntries, url, reason }) => [
      'source',
      source,
      state,
      String(serial ?? ''),
      String(invalidEntries),
      url,
      reason ?? '',
    ]),
    ...ordered.flatMap((one) =>
      one.reasons.map(({ code, message }) => [
        'refused',
        functionName(one),
        one.version,
        one.source,
        one.release ?? '',
        code,
        message,
      ]),
    ),
    ...shadowed.map((one) => [
      'shadowed',
      functionName(one),
      one.version,
      one.source,
      one.release ?? '',
      one.by.source,
      one.by.release ?? '',
    ]),
    ...yanked.map((one) => ['yanked', functionName(one), one.release, one.source]),
    ...sources.flatMap(({ source, invalid }) =>
      invalid.map(({ entry, group, kind, message }) => [
        'invalid',
        group === undefined || kind === undefined ? '' : `${group}/${kind}`,
        source,
        String(entry),
        message,
      ]),
    ),
    ...sources.flatMap(({ source, completed = [] }) =>
      completed.map(({ entry, group, kind, fields }) => [
        'completed',
        `${group}/${kind}`,
        source,
        String(entry),
        fields.join(','),
      ]),
    ),
    ...sources.flatMap(({ source, warnings = [] }) =>
      warnings.map(({ code, group, message }) => ['warning', group, source, code, message]),
    ),
  ];
}

function functionName({ group, kind }: { group: string; kind: string }): string {
  return `${group}/${kind}`;
}

function releaseText({ source, release }: { source: string; release?: string }): string {
  return release === undefined ? source : `${source} ${release}`;
}
