import { CHANGE_KINDS } from '@krmhub/schema/documents/change-kinds';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { paint } from '../io/io.js';
import { printLine, printTable, printWarning } from '../io/print.js';
import type { Column } from '../io/table.js';
import { relativeTime } from '../io/time.js';
import { printGrouped } from '../io/warnings.js';
import type {
  KnownVersion,
  OutdatedEntry,
  OutdatedReport,
  UpdateNotice,
  UpdateState,
} from './outdated-report.js';

const COLUMNS: readonly Column[] = [
  { header: 'WHERE', min: 14, keepsEnd: true },
  { header: 'FUNCTION', min: 10 },
  { header: 'LOCKED', min: 7 },
  { header: 'WANTED', min: 7 },
  { header: 'NEWEST', min: 7 },
  { header: 'CHANGE', min: 12 },
  { header: 'AGE' },
];

/** The words for states in counts, in order. */
const STATES: Record<UpdateState, string> = {
  behind: 'behind',
  newer: 'with a newer release out of range',
  'not-locked': 'not locked',
  'not-pinned': 'not pinned',
  unknown: 'unknown',
  current: 'current',
};
const NOTICES: Record<UpdateNotice['type'], string> = {
  yanked: 'yanked',
  deprecated: 'deprecated',
  'taken-down': 'taken down',
};
const SHORT_DIGEST = 'sha256:1234567'.length;

/**
 * Prints a table of what is not current; without a terminal, a line for everything. Warnings, failures, and counts go to
 * stderr.
 */
export async function printOutdated(
  io: Io,
  { entries, programs, failures, problems }: OutdatedReport,
): Promise<void> {
  const now = io.now();
  const shown = io.stdout.isTTY === true ? entries.filter(isNotable) : entries;
  if (shown.length > 0) {
    await printTable(io, COLUMNS, shown, { terminal: (one) => cells(one, now), pipe: row });
  }
  const warnings = entries.flatMap(noticeTexts);
  for (const text of new Set(warnings)) await printWarning(io, escapeControls(text));
  for (const { source, message, hint } of failures) {
    const label = paint(io, io.stderr, ['bold', 'red'], 'error');
    await printLine(io, `${label}: ${escapeControls(`${source}: ${message}`)}`);
    if (hint !== undefined) await printLine(io, `  hint: ${escapeControls(hint)}`);
  }
  await printGrouped(io, problems, new Map());
  const counts = (Object.keys(STATES) as UpdateState[]).flatMap((state) => {
    const count = entries.filter((one) => one.state === state).length;
    return count === 0 ? [] : `${count} ${STATES[state]}`;
  });
  const more = [
    ...(programs === 0 ? [] : [`${plural(programs, 'program')} of the package without releases`]),
    ...(problems.length === 0 ? [] : [plural(problems.length, 'problem')]),
  ];
  await printLine(io, [...(entries.length === 0 ? ['nothing to update'] : counts), ...more].join(', '));
}

function isNotable({ state, notices }: OutdatedEntry): boolean {
  return state !== 'current' || notices.length > 0;
}

function cells(entry: OutdatedEntry, now: Date): string[] {
  const { file, line, locked, wanted, newest } = entry;
  const ages = [locked?.publishedAt, newest?.publishedAt].map((time) =>
    time === undefined ? '' : relativeTime(time, now).replace(/ ago$/, ''),
  );
  return [
    `${file}:${line}`,
    functionText(entry),
    locked === undefined ? lockedText(entry) : versionText(entry, locked),
    versionText(entry, wanted),
    versionText(entry, newest),
    changeText(entry),
    [...new Set(ages.filter((age) => age !== ''))].join(' → '),
  ];
}

function lockedText({ state }: OutdatedEntry): string {
  return state === 'unknown' ? '' : STATES[state];
}

/** The kind of a functionConfig; of an image without one, its repository. */
function functionText({ kind, image }: OutdatedEntry): string {
  if (kind !== undefined && (image === undefined || kind !== 'ConfigMap')) return kind;
  return image === undefined ? '' : (image.split('/').at(-1) ?? image).split('@', 1)[0]!;
}

/** The release of a function; of an image, its tag, as the package and the registry of the image write it. */
function versionText(
  { image }: OutdatedEntry,
  { release, tag, digest, definition }: KnownVersion = {},
): string {
  const name = image === undefined ? (release ?? tag) : (tag ?? release);
  return name ?? (digest ?? definition ?? '').slice(0, SHORT_DIGEST);
}

function changeText({ changes = [], update, notices, problem, state }: OutdatedEntry): string {
  const kinds = changes.map((kind) => CHANGE_KINDS[kind]);
  const what = kinds.length > 0 ? kinds : update === undefined || update === 'other' ? [] : [update];
  const parts = [...notices.map(({ type }) => NOTICES[type]), ...what];
  return parts.length === 0 && state === 'unknown' ? (problem ?? '') : parts.join(', ');
}

function row(entry: OutdatedEntry): string[] {
  const { file, line, column, field, apiVersion = '', kind = '', state, catalog, image } = entry;
  const { locked, wanted, newest, update = '', changes = [], notices, tooNew = [], problem } = entry;
  return [
    `${file}:${line}:${column}`,
    field,
    apiVersion,
    kind,
    state,
    image ?? catalog ?? '',
    ...[locked, wanted, newest].map(
      (one) => one?.release ?? one?.tag ?? one?.digest ?? one?.definition ?? '',
    ),
    update,
    changes.join(','),
    locked?.publishedAt ?? '',
    newest?.publishedAt ?? '',
    [...notices.map(noticeText), ...tooNew.map(youngText), ...(problem === undefined ? [] : [problem])].join(
      '; ',
    ),
  ];
}

function noticeText({ type, reason, replacement }: UpdateNotice): string {
  // Without a reason of its publisher, the reason of a deprecation is the replacement.
  const instead = replacement === undefined || reason.includes(replacement) ? '' : `; use ${replacement}`;
  return `${NOTICES[type]}: ${reason}${instead}`;
}

function youngText({ release, oldEnoughAt }: NonNullable<OutdatedEntry['tooNew']>[number]): string {
  return `${release} is too new: old enough at ${oldEnoughAt}`;
}

function noticeTexts(entry: OutdatedEntry): string[] {
  const version = versionText(entry, entry.locked ?? entry.wanted);
  return entry.notices.map(
    (notice) => `${entry.file}:${entry.line}: ${functionText(entry)} ${version} is ${noticeText(notice)}`,
  );
}
