import {
  CATALOG_CHANGE_CLASSES,
  CATALOG_CHANGE_IMPACT_LABELS,
  type CatalogChangeImpact,
} from '@krmhub/catalog';
import { lineDiff } from '@krmhub/functions/output/line-diff';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, pad, plural } from '@krmhub/schema/text';
import { changeLines, printRows } from '../io/change-lines.js';
import { type Io, paint, terminalWidth, write } from '../io/io.js';
import { bold, type OutputFormat, printData, printLine, printWarning } from '../io/print.js';
import type { FunctionChange } from './function-changes.js';
import type { LockReport } from './lock-report.js';

const LABEL_COLUMNS = 14;
const COLORS = { breaking: 'red', review: 'yellow', quiet: 'dim' } as const satisfies Record<
  CatalogChangeImpact,
  string
>;
const MARKS = { added: '+', removed: '-', changed: '~' } as const satisfies Record<
  FunctionChange['type'],
  string
>;

type ImageChange = LockReport['imageChanges'][number];

/** Prints what changed; with `check`, the difference between the files. */
export async function printLockReport(
  io: Io,
  report: LockReport,
  {
    output,
    check,
    dryRun,
    command,
    before,
    after,
  }: {
    output: OutputFormat;
    check: boolean;
    dryRun: boolean;
    command: string;
    before: string;
    after: string;
  },
): Promise<void> {
  const difference = check ? lineDiff(before, after) : [];
  const data = { ...report, ...defined({ difference: check ? difference : undefined }) };
  await printData(io, output, data, async () => {
    if (check) await write(io.stdout, difference.map((line) => `${paintLine(io, line)}\n`).join(''));
    else if (io.stdout.isTTY === true) await printChanges(io, report);
    else await printRows(io, [...report.changes.flatMap(rows), ...report.imageChanges.map(imageRow)]);
  });
  await printPartial(io, report.changes);
  const size = sizeText(report);
  const file = escapeControls(report.file);
  if (!report.isChanged) await printLine(io, `${file} is up to date: ${size}`);
  else if (dryRun && !check) await printLine(io, `would write ${file}: ${size}`);
  else
    await printLine(io, check ? `${file} is out of date; update it: ${command}` : `wrote ${file}: ${size}`);
}

/** Warns about functions whose schemas were not compared. */
export async function printPartial(io: Io, changes: readonly FunctionChange[]): Promise<void> {
  for (const { isPartial, apiVersion, kind } of changes) {
    if (!isPartial) continue;
    const name = escapeControls(`${apiVersion} ${kind}`);
    await printWarning(
      io,
      `the locked definition of ${name} is not available, so its schema was not compared`,
    );
  }
}

function sizeText({ functions, catalogs, images, unlocked }: LockReport): string {
  const parts = [
    ...(functions > 0 ? [`${plural(functions, 'function')} of ${plural(catalogs, 'catalog')}`] : []),
    ...(images > 0 ? [plural(images, 'image')] : []),
  ];
  const locked = parts.length === 0 ? 'nothing to lock' : parts.join(', ');
  return unlocked === 0 ? locked : `${locked}; ${plural(unlocked, 'program')} of the package not locked`;
}

/** Prints for people what changed of each function and image. */
export async function printChanges(
  io: Io,
  { changes, imageChanges }: Pick<LockReport, 'changes' | 'imageChanges'>,
): Promise<void> {
  const width = terminalWidth(io.stdout);
  const lines: string[] = [];
  for (const change of changes) {
    lines.push(bold(io, escapeControls(`${MARKS[change.type]} ${title(change)}`)));
    for (const { weight, message, class: name } of change.changes) {
      const { label } = CATALOG_CHANGE_IMPACT_LABELS[weight];
      const painted = paint(io, io.stdout, COLORS[weight], pad(`  ${label}`, LABEL_COLUMNS));
      const text = `${message} (${name})`;
      lines.push(...changeLines({ label: painted, labelWidth: LABEL_COLUMNS, message: text }, width));
    }
  }
  for (const change of imageChanges) {
    lines.push(bold(io, escapeControls(`${MARKS[change.type]} ${change.image}`)));
    lines.push(
      `  ${digests(change)
        .filter((one) => one !== '')
        .join(' → ')}`,
    );
  }
  await write(io.stdout, lines.map((line) => `${line}\n`).join(''));
}

function imageRow(change: ImageChange): string[] {
  const { type, image, class: name } = change;
  const message = name === 'rebuilt' ? 'the digest of the tag changed' : 'the constraint means another tag';
  const classes = name === undefined ? ['', '', ''] : [CATALOG_CHANGE_CLASSES[name].weight, name, message];
  return [type, image, ...digests(change), '', ...classes];
}

/** Before and after; with the tag that a constraint meant. */
function digests({ before = '', after = '', beforeTag, afterTag }: ImageChange): [string, string] {
  const withTag = (tag: string | undefined, digest: string) =>
    tag === undefined ? digest : `${tag}@${digest}`;
  return [withTag(beforeTag, before), withTag(afterTag, after)];
}

function title({ type, apiVersion, kind, before, after, catalog }: FunctionChange): string {
  const releases =
    type === 'changed' && before !== after ? [before ?? 'none', after ?? 'none'] : [after ?? before];
  const release = releases.filter((one) => one !== undefined).join(' → ');
  return `${apiVersion} ${kind}${release === '' ? '' : ` ${release}`} from ${catalog}`;
}

/** A line for each change of a function; at least one. */
function rows(change: FunctionChange): string[][] {
  const { type, apiVersion, kind, before = '', after = '', catalog } = change;
  const head = [type, `${apiVersion} ${kind}`, before, after, catalog];
  if (change.changes.length === 0) return [[...head, '', '', '']];
  return change.changes.map(({ weight, class: name, message }) => [...head, weight, name, message]);
}

function paintLine(io: Io, line: string): string {
  const color = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined;
  const text = escapeControls(line);
  return color === undefined ? text : paint(io, io.stdout, color, text);
}
