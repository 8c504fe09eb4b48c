import type { ProfileLoss, ProfileReport } from '@krmhub/schema';
import type { Io } from './io.js';
import { printLine, printWarning } from './print.js';
import { plural, visible } from './text.js';

/** What a profile does not say, briefly: each kind of loss with its number and one example. `more` says where all are. */
export async function printUnsupportedFields(io: Io, report: ProfileReport, more: string): Promise<void> {
  const { profile, unsaid, losses, functions, omitted } = report;
  if (unsaid.length > 0) {
    const fields = unsaid.map(({ field }) => field).join(', ');
    await printLine(io, visible(`${profile} says of no function: ${fields}`));
  }
  if (losses.length === 0) return;
  const left = omitted === 0 ? '' : `, ${omitted} of ${plural(functions + omitted, 'function')} left out`;
  await printWarning(
    io,
    visible(`${profile} cannot say everything: ${plural(losses.length, 'loss', 'losses')}${left}; ${more}`),
  );
  const byField = new Map<string, ProfileLoss[]>();
  for (const loss of losses) {
    const what = loss.field ?? (loss.version === undefined ? 'functions left out' : 'API versions left out');
    byField.set(what, [...(byField.get(what) ?? []), loss]);
  }
  for (const [what, group] of [...byField].sort(([, a], [, b]) => b.length - a.length)) {
    const [{ group: name, kind, version, message }] = group as [ProfileLoss];
    const place = `${name}/${kind}${version === undefined ? '' : ` ${version}`}`;
    const sample = group.length === 1 ? '' : ' such as';
    await printLine(io, visible(`  ${group.length} × ${what}${sample} in ${place}: ${message}`));
  }
}

export function reportText(report: ProfileReport): string {
  return `${JSON.stringify(report, undefined, 2)}\n`;
}
