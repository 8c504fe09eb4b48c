import { type PinnedRuntime, pinnedPrograms } from '@krmhub/catalog/runtimes/runtimes';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { imageAt } from '@krmhub/consume/resolve/images/named-image';
import { isPinned, type ResolvedInline } from '@krmhub/consume/resolve/resolution';
import { inlineProgram } from '@krmhub/functions/plan/inline-program';
import type { Diagnostic } from '@krmhub/schema/diagnostic';
import { CHANGE_KINDS } from '@krmhub/schema/documents/change-kinds';
import { escapeControls, pad, plural } from '@krmhub/schema/text';
import { printRows } from '../io/change-lines.js';
import { type Io, paint, terminalWidth, write } from '../io/io.js';
import { bold, printLine } from '../io/print.js';
import { printGrouped } from '../io/warnings.js';
import { wrapText } from '../io/wrap-text.js';
import type { Explanation } from './explanation.js';

const LABEL_COLUMNS = 12;
const COLORS = {
  resolved: 'green',
  inline: 'yellow',
  'not-found': 'red',
  'not-trusted': 'red',
  unreachable: 'red',
  invalid: 'red',
} as const satisfies Record<Explanation['state'], string>;

/**
 * Prints a block for each function; without a terminal, a line with position, field, apiVersion, kind, state, catalog,
 * release, runtime, what runs, its definition, signer and the reason. Problems and counts go to stderr.
 */
export async function printExplanations(
  io: Io,
  explanations: readonly Explanation[],
  diagnostics: readonly Diagnostic[],
): Promise<void> {
  const failed = explanations.filter(({ state }) => state !== 'resolved' && state !== 'inline');
  if (io.stdout.isTTY === true) {
    for (const one of explanations) await write(io.stdout, `${block(io, one)}\n`);
  } else {
    await printRows(io, explanations.map(row));
    for (const one of failed) await printFailure(io, one);
  }
  await printGrouped(io, diagnostics, await sources(io, diagnostics));
  const counts = [
    plural(explanations.length, 'function'),
    ...(failed.length === 0 ? [] : [`${failed.length} not resolved`]),
    ...(diagnostics.length === 0 ? [] : [plural(diagnostics.length, 'problem')]),
  ];
  await printLine(io, counts.join(', '));
}

/** Why nothing runs, with what to do about it: a line of a table has no room for that. */
async function printFailure(io: Io, { file, line, column, reason, hint }: Explanation): Promise<void> {
  const label = paint(io, io.stderr, ['bold', 'red'], 'error');
  // A reason can list problems, one on each line.
  const lines = `${file}:${line}:${column}: ${reason}`.split('\n').map(escapeControls);
  await printLine(io, `${label}: ${lines.join('\n')}`);
  if (hint !== undefined) await printLine(io, `  hint: ${escapeControls(hint)}`);
}

function block(io: Io, one: Explanation): string {
  const { apiVersion, kind, name, file, line, column, field, state } = one;
  const title = `${apiVersion} ${kind}${name === undefined ? '' : ` ${name}`}`;
  const lines = [
    `${bold(io, escapeControls(title))}  ${paint(io, io.stdout, COLORS[state], state)}`,
    `  ${escapeControls(`${file}:${line}:${column} (${field})`)}`,
  ];
  const width = terminalWidth(io.stdout) - LABEL_COLUMNS - 2;
  for (const [label, value] of facts(one)) {
    const text = escapeControls(value);
    // A line break inside of the command of a hint would end the command where it is pasted.
    const [first = '', ...more] = label === 'hint' ? [text] : wrapText(text, width);
    lines.push(`  ${pad(label, LABEL_COLUMNS)}${first}`);
    lines.push(...more.map((text) => `  ${' '.repeat(LABEL_COLUMNS)}${text}`));
  }
  return `${lines.join('\n')}\n`;
}

function facts(one: Explanation): [label: string, value: string][] {
  const { catalog, release, definition, signedBy, runtime, reason, hint, warnings } = one;
  const found: [string, string | undefined][] = [
    ['catalog', catalog && catalogText(catalog)],
    ['release', release],
    ['definition', definition],
    ['signer', signedBy],
    ...(runtime === undefined ? [] : runtimeFacts(runtime)),
    ['page', one.page],
    ['why', reason],
    ['behind', behindText(one)],
    ['hint', hint],
    ...warnings.map((text): [string, string] => ['warning', text]),
  ];
  return found.flatMap(([label, value]) => (value === undefined ? [] : [[label, value]]));
}

/** The release that an upgrade takes, with what it changes. */
function behindText({ behind }: Explanation): string | undefined {
  if (behind === undefined) return undefined;
  const changes = (behind.changes ?? []).map((kind) => CHANGE_KINDS[kind]).join(', ');
  return `an upgrade takes ${behind.release}${changes === '' ? '' : `: ${changes}`}`;
}

function catalogText({ reference, serial }: NonNullable<Explanation['catalog']>): string {
  return serial === undefined ? reference : `${reference} (snapshot ${serial})`;
}

function runtimeFacts(runtime: PinnedRuntime | ResolvedInline): [string, string | undefined][] {
  if (runtime.type !== 'container') {
    const programs = isPinned(runtime) ? pinnedPrograms(runtime) : undefined;
    if (programs === undefined || programs.some(({ platform }) => platform === undefined)) {
      return [[runtime.type, runsText(runtime)]];
    }
    return programs.flatMap(({ platform = '', uri, sha256 }): [string, string][] => [
      [platform, uri],
      ['', sha256],
    ]);
  }
  const platforms = 'platforms' in runtime ? Object.entries(runtime.platforms ?? {}) : [];
  const needs = [
    ...(runtime.network ? ['network'] : []),
    ...(('storage' in runtime ? runtime.storage : runtime.mounts.length > 0) ? ['mounts'] : []),
  ];
  return [
    ['container', exactImage(runtime)],
    ['tag', 'tag' in runtime ? runtime.tag : undefined],
    ['written as', 'digest' in runtime && exactImage(runtime) !== runtime.image ? runtime.image : undefined],
    ...platforms.map(([platform, digest]): [string, string] => [platform, digest]),
    ['needs', needs.length === 0 ? undefined : needs.join(', ')],
  ];
}

/** `NAME@sha256:…`, as far as it is known. */
function exactImage(runtime: Extract<PinnedRuntime | ResolvedInline, { type: 'container' }>): string {
  return 'digest' in runtime && runtime.digest !== undefined
    ? imageAt(runtime.image, runtime.digest)
    : runtime.image;
}

/** What a runtime runs, in one text. */
function runsText(runtime: PinnedRuntime | ResolvedInline): string {
  if (runtime.type === 'container') return exactImage(runtime);
  if (!isPinned(runtime)) return inlineProgram(runtime);
  return pinnedPrograms(runtime)
    .map(({ platform, uri, sha256 }) => (platform === undefined ? uri : `${platform}=${sha256}`))
    .join(' ');
}

function row(one: Explanation): string[] {
  const { runtime, catalog } = one;
  return [
    `${one.file}:${one.line}:${one.column}`,
    one.field,
    one.apiVersion,
    one.kind,
    one.state,
    catalog?.reference ?? '',
    one.release ?? '',
    runtime?.type ?? '',
    runtime === undefined ? '' : runsText(runtime),
    one.definition ?? '',
    one.signedBy ?? '',
    [one.reason, ...[behindText(one) ?? []].flat(), ...one.warnings].join('; '),
  ];
}

/** The files of problems, for their lines. */
async function sources(io: Io, diagnostics: readonly Diagnostic[]): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const { file, range } of diagnostics) {
    if (range === undefined || found.has(file)) continue;
    const bytes = await readFileUpTo(io, file).catch(() => undefined);
    if (bytes !== undefined) found.set(file, bytes);
  }
  return found;
}
