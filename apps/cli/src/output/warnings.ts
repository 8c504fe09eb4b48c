import type { Diagnostic } from '@krmhub/schema';
import type { Io } from '../io.js';
import { say, warn } from './print.js';
import { plural, visible } from './text.js';

/** Warnings that are shown one by one; more are counted by their code. */
const MAX_SHOWN = 5;

/** Warnings stop nothing, so they are told briefly; `more` says where all of them are. */
export async function printWarnings(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
  more = '`krmhub lint` shows each with its place',
): Promise<void> {
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning');
  if (warnings.length === 0) return;
  if (warnings.length <= MAX_SHOWN) {
    const { printDiagnostics } = await import('./diagnostics.js');
    return printDiagnostics(io, io.stderr, warnings, sources);
  }
  const byCode = new Map<string, Diagnostic[]>();
  for (const warning of warnings) byCode.set(warning.code, [...(byCode.get(warning.code) ?? []), warning]);
  const files = (group: readonly Diagnostic[]) => plural(new Set(group.map(({ file }) => file)).size, 'file');
  await warn(io, `${plural(warnings.length, 'warning')} in ${files(warnings)}; ${more}`);
  for (const [code, group] of [...byCode].sort(([, a], [, b]) => b.length - a.length)) {
    const sample = `${group.length === 1 ? '' : ' such as'}: ${group[0]!.message}`;
    await say(io, visible(`  ${group.length} × ${code} in ${files(group)}${sample}`));
  }
}
