import type { Diagnostic } from '@krmhub/schema';
import { plural } from '@krmhub/schema/text';
import type { Io, Output } from './io.js';
import { printWarning } from './print.js';

/** Places of further diagnostics of a code to list; more are counted. */
const MAX_PLACES = 4;

interface Group {
  first: Diagnostic;
  /** The file of the first. */
  bytes: Uint8Array | undefined;
  /** Of the others. */
  places: string[];
  count: number;
  files: Set<string>;
}

/** Diagnostics by code: the first of each is printed in full, the others by their places. */
export class DiagnosticGroups {
  readonly #groups = new Map<string, Group>();

  add(diagnostics: readonly Diagnostic[], sources: ReadonlyMap<string, Uint8Array>): void {
    for (const one of diagnostics) {
      const group = this.#groups.get(one.code);
      if (group === undefined) {
        const bytes = sources.get(one.file);
        this.#groups.set(one.code, { first: one, bytes, places: [], count: 0, files: new Set() });
        continue;
      }
      group.count += 1;
      group.files.add(one.file);
      if (group.places.length < MAX_PLACES) group.places.push(formatPlace(one));
    }
  }

  /** The number of diagnostics that `print` does not print in full. */
  get grouped(): number {
    return [...this.#groups.values()].reduce((sum, { count }) => sum + count, 0);
  }

  async print(io: Io, stream: Output): Promise<void> {
    if (this.#groups.size === 0) return;
    const { printDiagnostics } = await import('./diagnostics.js');
    for (const group of this.#groups.values()) {
      const { first, bytes } = group;
      const sources = new Map(bytes === undefined ? [] : [[first.file, bytes]]);
      await printDiagnostics(io, stream, [first], sources, moreText(group));
    }
  }
}

/** Prints warnings, grouped by code. `more` says how to list all of them. */
export async function printWarnings(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
  more = 'list them with `krmhub lint -o json`',
): Promise<void> {
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning');
  const grouped = await printGroups(io, warnings, sources);
  if (grouped > 0)
    await printWarning(io, `${plural(warnings.length, 'warning')} in ${countFiles(warnings)}; ${more}`);
}

/** Prints automatic corrections, grouped by code. */
export async function printCorrections(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  await printGroups(
    io,
    diagnostics.filter(({ severity }) => severity === 'info'),
    sources,
  );
}

/** Prints errors in full, and other diagnostics grouped by code. */
export async function printGrouped(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const { printDiagnostics } = await import('./diagnostics.js');
  await printDiagnostics(io, io.stderr, errors, sources);
  await printGroups(
    io,
    diagnostics.filter(({ severity }) => severity !== 'error'),
    sources,
  );
}

async function printGroups(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<number> {
  const groups = new DiagnosticGroups();
  groups.add(diagnostics, sources);
  await groups.print(io, io.stderr);
  return groups.grouped;
}

function moreText({ count, files, places }: Group): string | undefined {
  if (count === 0) return undefined;
  const where = files.size > 1 ? ` in ${plural(files.size, 'file')}` : '';
  return `${count} more${where}: ${[...places, ...(count > places.length ? ['…'] : [])].join(', ')}`;
}

function formatPlace({ file, path, range }: Diagnostic): string {
  if (range !== undefined) return `${file}:${range.start.line}:${range.start.column}`;
  return path === '' ? file : `${file} ${path}`;
}

function countFiles(diagnostics: readonly Diagnostic[]): string {
  return plural(new Set(diagnostics.map(({ file }) => file)).size, 'file');
}
