import type { ProfileReport, UnsupportedValue } from '@krmhub/schema';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from './io.js';
import { printLine, printWarning } from './print.js';

/**
 * Prints what a profile cannot express: each kind of field with its count and an example. `more` says where the list
 * is.
 */
export async function printUnsupportedFields(io: Io, report: ProfileReport, more: string): Promise<void> {
  const { profile, unsaid, losses, functions, omitted } = report;
  if (unsaid.length > 0) {
    const fields = unsaid.map(({ field }) => field).join(', ');
    await printLine(io, escapeControls(`profile ${profile} does not support: ${fields}`));
  }
  if (losses.length === 0) return;
  const left = omitted === 0 ? '' : `, ${omitted} of ${plural(functions + omitted, 'function')} omitted`;
  await printWarning(
    io,
    escapeControls(`profile ${profile} does not support ${plural(losses.length, 'value')}${left}; ${more}`),
  );
  const byField = new Map<string, UnsupportedValue[]>();
  for (const value of losses) {
    const what = value.field ?? (value.version === undefined ? 'omitted functions' : 'omitted API versions');
    byField.set(what, [...(byField.get(what) ?? []), value]);
  }
  for (const [what, group] of [...byField].sort(([, a], [, b]) => b.length - a.length)) {
    const [{ group: name, kind, version, message }] = group as [UnsupportedValue];
    const place = `${name}/${kind}${version === undefined ? '' : ` ${version}`}`;
    const sample = group.length === 1 ? '' : ', for example';
    await printLine(io, escapeControls(`  ${group.length} × ${what}${sample} in ${place}: ${message}`));
  }
}

export function reportText(report: ProfileReport): string {
  return `${JSON.stringify(report, undefined, 2)}\n`;
}
