import type { Diagnostic } from '@krmhub/schema';
import type { Io } from './io.js';
import { printLine, printWarning } from './print.js';
import { plural, visible } from './text.js';

/** Findings that are shown one by one; more are counted by their code. */
const MAX_SHOWN = 5;

/** Warnings stop nothing, so they are told briefly; `more` says where all of them are. */
export async function printWarnings(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
  more = '`krmhub lint` shows each with its place',
): Promise<void> {
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning');
  if (warnings.length <= MAX_SHOWN) return printEach(io, warnings, sources);
  await printWarning(io, `${plural(warnings.length, 'warning')} in ${files(warnings)}; ${more}`);
  await countByCode(io, warnings);
}

/** What was put right without a question, as briefly. */
export async function printCorrections(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const corrections = diagnostics.filter(({ severity }) => severity === 'info');
  if (corrections.length <= MAX_SHOWN) return printEach(io, corrections, sources);
  await printLine(io, `${plural(corrections.length, 'correction')} in ${files(corrections)}`);
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

function files(diagnostics: readonly Diagnostic[]): string {
  return plural(new Set(diagnostics.map(({ file }) => file)).size, 'file');
}

async function countByCode(io: Io, diagnostics: readonly Diagnostic[]): Promise<void> {
  const byCode = new Map<string, Diagnostic[]>();
  for (const one of diagnostics) byCode.set(one.code, [...(byCode.get(one.code) ?? []), one]);
  for (const [code, group] of [...byCode].sort(([, a], [, b]) => b.length - a.length)) {
    const sample = `${group.length === 1 ? '' : ' such as'}: ${group[0]!.message}`;
    await printLine(io, visible(`  ${group.length} × ${code} in ${files(group)}${sample}`));
  }
}
