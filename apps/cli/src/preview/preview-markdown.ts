import {
  CATALOG_CHANGE_IMPACT_LABELS,
  CATALOG_CHANGE_IMPACTS,
} from '@krmhub/catalog/compare/catalogs/classes';
import { escapeControls, plural, shorten } from '@krmhub/schema/text';
import type { ManifestChange } from './manifests.js';
import type { FunctionPreview, PreviewReport } from './preview-report.js';
import {
  diffLines,
  functionFacts,
  identityNote,
  identityText,
  rejectedText,
  resultText,
  sideText,
  summary,
  unstableManifest,
  unstableText,
  warningText,
} from './preview-text.js';
import { previewTitle } from './preview-title.js';

/** Limits of a description of a pull request; in characters. GitHub takes 65,536. */
export const MARKDOWN_LIMITS = {
  max: 65_000,
  /** A longer one has its diffs folded. */
  maxUnfolded: 60_000,
  /** Of the lines of one list or table. */
  maxList: 8_000,
  /** Of a text of others in one line. */
  maxSpan: 300,
  /** Of the message of a failure. */
  maxMessage: 3_000,
} as const;

/** Of one diff, if all diffs would be too long: the largest with which all fit. */
const DIFF_SIZES = [32_000, 16_000, 8_000, 4_000, 2_000, 1_000, 400];
/** For what is around a diff. */
const FRAME = 300;

/**
 * Returns a description of a pull request. All text of the package and of others is in code spans and fences, where
 * nothing is a link, a mention, or HTML.
 */
export function markdownPreview(report: PreviewReport): string {
  const { path, functions, imageChanges, manifests } = report;
  const { changes } = manifests;
  const start = [
    `# ${previewTitle(path, functions, imageChanges, span)}`,
    summary(report),
    ...functionSection(report),
    ...rejectedSection(report),
    ...warningSection(report),
    ...failureSection(report),
    ...(changes.length === 0 ? [] : ['## Manifests']),
  ];
  const end = [...resultSection(report), ...unstableSection(report)];
  const whole = join([
    ...start,
    ...changes.map((one) => manifestText(one, { isFolded: false, all: changes })),
    ...end,
  ]);
  return whole.length <= MARKDOWN_LIMITS.maxUnfolded ? whole : folded(report, start, end);
}

/** The diffs as far as they fit, with a line about what is left out. */
function folded({ manifests: { changes }, command }: PreviewReport, start: string[], end: string[]): string {
  const note = (count: number) =>
    `**${count} of ${plural(changes.length, 'diff')} ${count === 1 ? 'is' : 'are'} cut or left out here, ` +
    `because the text would be too long.** Show everything: ${span(command)}`;
  const room = MARKDOWN_LIMITS.max - join([...start, note(changes.length), ...end]).length;
  const full = changes.map((one) => manifestText(one, { isFolded: true, all: changes }));
  let shown = full;
  for (const size of DIFF_SIZES) {
    if (join(shown).length <= room) break;
    shown = changes.map((one) => manifestText(one, { isFolded: true, all: changes, size }));
  }
  let length = 0;
  const fitting = shown.filter((text) => {
    length += text.length + 2;
    return length <= room;
  });
  const cut = changes.length - fitting.filter((text, at) => text === full[at]).length;
  return join([...start, ...(cut === 0 ? [] : [note(cut)]), ...fitting, ...end]);
}

function functionSection({ functions, imageChanges }: PreviewReport): string[] {
  if (functions.length + imageChanges.length === 0) return [];
  const rows = functions.map((fn) => {
    const known = new Map(functionFacts(fn));
    const { apiVersion, kind, before, after, type } = fn;
    const cells = [
      cell(`${apiVersion} ${kind}`),
      cell(before),
      cell(after),
      type === 'changed' ? countChanges(fn) : type,
      cell(known.get('permissions')),
      cell(known.get('signed by')),
      cell(known.get('source')),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const images = imageChanges.map(({ image, before, after, beforeTag, afterTag, type, class: name }) => {
    const [from, to] = [beforeTag ?? before, afterTag ?? after];
    const cells = [cell(image), cell(from), cell(to), name === undefined ? type : cell(name), '–', '–', '–'];
    return `| ${cells.join(' | ')} |`;
  });
  const [shownRows, moreRows] = upTo([...rows, ...images], MARKDOWN_LIMITS.maxList);
  const table = [
    '| function | from | to | change | permissions | signed by | source |',
    '|---|---|---|---|---|---|---|',
    ...shownRows,
  ];
  const changes = functions.flatMap((fn) =>
    fn.changes.map(
      ({ weight, message }) =>
        `- ${span(fn.kind)} ${CATALOG_CHANGE_IMPACT_LABELS[weight].label}: ${span(message)}`,
    ),
  );
  const partial = functions.filter(({ isPartial }) => isPartial);
  const notes = partial.map(
    ({ kind }) => `- ${span(kind)}: its locked definition is not available, so schemas were not compared`,
  );
  return ['## Functions', table.join('\n'), ...moreRows, ...list([...changes, ...notes])];
}

/** For example `1 breaking, 2 compatible`. */
function countChanges({ changes }: FunctionPreview): string {
  const counts = CATALOG_CHANGE_IMPACTS.flatMap((weight) => {
    const count = changes.filter((one) => one.weight === weight).length;
    return count === 0 ? [] : [`${count} ${CATALOG_CHANGE_IMPACT_LABELS[weight].label}`];
  });
  return counts.length === 0 ? 'changed' : counts.join(', ');
}

function rejectedSection({ rejected }: PreviewReport): string[] {
  const lines = rejected.map((one) =>
    [`- ${span(rejectedText(one))}`, ...(one.hint === undefined ? [] : [`  ${span(one.hint)}`])].join('\n'),
  );
  return lines.length === 0 ? [] : ['## Not upgraded', ...list(lines)];
}

function warningSection({ warnings }: PreviewReport): string[] {
  const lines = warnings.map((one) => `- ${span(warningText(one))}`);
  return lines.length === 0 ? [] : ['## Warnings', ...list(lines)];
}

function failureSection({ failures }: PreviewReport): string[] {
  return Object.entries(failures).flatMap(([side, { command, message, hint }]) => [
    `## Failure`,
    `${span(command)} fails with the ${sideText(side)}:`,
    fence(message.slice(0, MARKDOWN_LIMITS.maxMessage).split('\n').map(escapeControls), 'text'),
    ...(hint === undefined ? [] : [`Hint: ${span(hint)}`]),
  ]);
}

function resultSection({ results: { appeared, disappeared } }: PreviewReport): string[] {
  const lines = [
    ...appeared.map((one) => `- new: ${span(resultText(one))}`),
    ...disappeared.map((one) => `- gone: ${span(resultText(one))}`),
  ];
  return lines.length === 0 ? [] : ['## Results', ...list(lines)];
}

function unstableSection({ notDeterministic, manifests: { unstable } }: PreviewReport): string[] {
  const lines = [...notDeterministic.map(unstableText), ...unstable.map(unstableManifest)];
  return lines.length === 0
    ? []
    : [
        '## Not deterministic',
        'Two runs with the same lock differ here, so this is not compared:',
        ...list(lines.map((line) => `- ${span(line)}`)),
      ];
}

function manifestText(
  change: ManifestChange,
  { isFolded, all, size }: { isFolded: boolean; all: readonly ManifestChange[]; size?: number },
): string {
  const name = identityText(change);
  const note = identityNote(change, all);
  const lines = diffLines(change);
  const [shown, more] = size === undefined ? [lines, []] : upTo(lines, size - FRAME);
  const body = [fence(shown, 'diff'), ...more];
  if (!isFolded) return [`### ${change.type} ${span(name)}${note}`, ...body].join('\n\n');
  // In HTML, a code span is not read: the name is escaped instead.
  const title = `${change.type} <code>${html(shorten(name, MARKDOWN_LIMITS.maxSpan))}</code>${note}`;
  return [`<details><summary>${title}</summary>`, ...body, '</details>'].join('\n\n');
}

/** The first lines, up to a number of characters, and a line about the others. */
function upTo(lines: readonly string[], max: number): [string[], string[]] {
  let length = 0;
  const end = lines.findIndex((line) => {
    length += line.length + 1;
    return length > max;
  });
  if (end === -1) return [[...lines], []];
  const left = lines.length - end;
  return [lines.slice(0, end), [`${plural(left, 'more line')} left out here.`]];
}

/** Items as one block. */
function list(items: readonly string[]): string[] {
  const [shown, more] = upTo(items, MARKDOWN_LIMITS.maxList);
  return [...(shown.length === 0 ? [] : [shown.join('\n')]), ...more];
}

function join(parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`;
}

/** A code span in a cell of a table. Renderers differ in what a backslash before a bar means. */
function cell(text: string | undefined): string {
  return text === undefined ? '–' : span(text.replaceAll('|', '¦'));
}

/** A code span in one line. */
function span(text: string): string {
  const line = shorten(escapeControls(text.replace(/\s+/g, ' ')).trim(), MARKDOWN_LIMITS.maxSpan);
  const ticks = '`'.repeat(longestRun(line) + 1);
  const pad = line.startsWith('`') || line.endsWith('`') || line === '' ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** A fence that no line of it can end. */
function fence(lines: readonly string[], language: string): string {
  const ticks = '`'.repeat(Math.max(3, longestRun(lines.join('\n')) + 1));
  return [`${ticks}${language}`, ...lines, ticks].join('\n');
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}

function html(text: string): string {
  // GitHub reads mentions outside of code only.
  return text.replace(/[&<>"'@#]/g, (character) => `&#${character.charCodeAt(0)};`);
}
