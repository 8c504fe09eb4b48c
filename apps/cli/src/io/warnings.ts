import type { Diagnostic } from '@krmhub/schema';
import type { Io } from './io.js';
import { printLine, printWarning } from './print.js';
import { escapeControls, plural } from './text.js';

/** Maximum number of diagnostics to print in full; more are counted by code. */
const MAX_SHOWN = 5;

/** Prints warnings, or their counts if there are many. `more` says how to list all of them. */
export async function printWarnings(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
  more = 'list them with `krmhub lint`',
): Promise<void> {
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning');
  if (warnings.length <= MAX_SHOWN) return printEach(io, warnings, sources);
  await printWarning(io, `${plural(warnings.length, 'warning')} in ${countFiles(warnings)}; ${more}`);
  await countByCode(io, warnings);
}

/** Prints automatic corrections, or their counts if there are many. */
export async function printCorrections(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const corrections = diagnostics.filter(({ severity }) => severity === 'info');
  if (corrections.length <= MAX_SHOWN) return printEach(io, corrections, sources);
  await printLine(io, `${plural(corrections.length, 'correction')} in ${countFiles(corrections)}`);
  await countByCode(io, corrections);
}

async function printEach(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const { printDiagnostics } = await import('./diagnostics.js');
  await printDiagnostics(io, io.stderr, diagnostics, sources);
}

function countFiles(diagnostics: readonly Diagnostic[]): string {
  return plural(new Set(diagnostics.map(({ file }) => file)).size, 'file');
}

async function countByCode(io: Io, diagnostics: readonly Diagnostic[]): Promise<void> {
  const byCode = new Map<string, Diagnostic[]>();
  for (const one of diagnostics) byCode.set(one.code, [...(byCode.get(one.code) ?? []), one]);
  for (const [code, group] of [...byCode].sort(([, a], [, b]) => b.length - a.length)) {
    const sample = `${group.length === 1 ? '' : ', for example'}: ${group[0]!.message}`;
    await printLine(io, escapeControls(`  ${group.length} × ${code} in ${countFiles(group)}${sample}`));
  }
}
