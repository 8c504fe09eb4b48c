import type { Diagnostic } from '@krmhub/schema';
import type { Io } from '../io.js';
import { say, warn } from '../output/print.js';
import { plural, visible } from '../output/text.js';

/** Warnings that are shown one by one; more are counted by their code. */
const MAX_SHOWN = 5;

/** Warnings do not stop a publish, so they are told briefly. */
export async function printWarnings(
  io: Io,
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning');
  if (warnings.length === 0) return;
  if (warnings.length <= MAX_SHOWN) {
    const { printDiagnostics } = await import('../output/diagnostics.js');
    return printDiagnostics(io, io.stderr, warnings, sources);
  }
  const byCode = new Map<string, Diagnostic[]>();
  for (const warning of warnings) byCode.set(warning.code, [...(byCode.get(warning.code) ?? []), warning]);
  const files = (group: readonly Diagnostic[]) => plural(new Set(group.map(({ file }) => file)).size, 'file');
  await warn(
    io,
    `${plural(warnings.length, 'warning')} in ${files(warnings)}; \`krmhub lint\` shows each with its place`,
  );
  for (const [code, group] of [...byCode].sort(([, a], [, b]) => b.length - a.length)) {
    const sample = group.length === 1 ? group[0]!.message : `such as: ${group[0]!.message}`;
    await say(io, visible(`  ${group.length} × ${code} in ${files(group)}: ${sample}`));
  }
}
