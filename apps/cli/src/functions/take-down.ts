import type { TakedownResult } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { plural, visible } from '../io/text.js';
import { connect } from '../registry/connection.js';
import { parseReleaseReference } from '../registry/function-reference.js';

export interface TakedownOptions {
  reason: string;
  dryRun?: boolean;
  output: OutputFormat;
  registry?: string;
}

/** Takes one release down: says on stderr what went or would go, and prints the whole answer where asked to. */
export async function takeDown(io: Io, reference: string, options: TakedownOptions): Promise<void> {
  const { group, kind, release } = parseReleaseReference(reference);
  const reason = options.reason.trim();
  if (reason === '') {
    throw new KrmhubError('usage', 'the reason is empty', {
      hint: 'Say in --reason what users need to know.',
    });
  }
  const client = await connect(io, options.registry);
  const result = await client.takedown(group, kind, release, reason, { dryRun: options.dryRun });
  for (const line of linesOf(result)) await printLine(io, visible(line));
  await printData(io, options.output, result, async () => undefined);
}

function linesOf(result: TakedownResult): string[] {
  const { outcome, dryRun, takedowns, erased } = result;
  const names = takedowns.map(({ group, kind, release }) => `${group}/${kind}@${release}`).join(', ');
  if (outcome === 'unchanged') {
    const [{ at, by, reason } = { at: '', by: '', reason: '' }] = takedowns;
    return [`${names} was taken down already at ${at} by ${by}: ${reason}`, ...leftOver(dryRun || erased)];
  }
  const lines = [`${dryRun ? 'would take' : 'took'} down ${names}`];
  if (takedowns.length > 1) lines.push('  all of them are the same bytes');
  for (const { digest, keptBy } of result.blobs) {
    const others = keptBy.map(({ group, kind, release }) => `${group}/${kind}@${release}`);
    const some = others.length > 5 ? [...others.slice(0, 5), '…'] : others;
    lines.push(
      others.length === 0 ? `  ${digest} goes` : `  ${digest} stays: it is also of ${some.join(', ')}`,
    );
  }
  if (result.repositories.length > 0) {
    const [verb, some] = [dryRun ? 'would go' : 'gone', result.repositories.slice(0, 20)];
    const more = result.repositories.length > some.length ? ', …' : '';
    lines.push(`  copies and what names them ${verb} from ${some.join(', ')}${more}`);
  }
  for (const [catalog, serials] of withdrawnByCatalog(result)) {
    lines.push(`  ${plural(serials.length, 'snapshot')} of ${catalog} withdrawn: ${ranges(serials)}`);
    if (dryRun) continue;
    const newest = result.catalogs.find((one) => one.catalog === catalog);
    lines.push(
      newest === undefined
        ? `  ${catalog} is not cut yet; until then it answers 503`
        : `  ${catalog} is now at snapshot ${newest.serial}`,
    );
  }
  lines.push(...(dryRun ? ['nothing was changed'] : leftOver(erased)));
  return lines;
}

function leftOver(erased: boolean): string[] {
  if (erased) return [];
  return [
    'not everything is erased from the disk; the log of the registry has the cause. It tries again when it starts, and when you repeat this',
  ];
}

function withdrawnByCatalog({ withdrawn }: TakedownResult): Map<string, number[]> {
  const catalogs = new Map<string, number[]>();
  for (const { catalog, serial } of withdrawn) {
    catalogs.set(catalog, [...(catalogs.get(catalog) ?? []), serial]);
  }
  return catalogs;
}

/** `1–3, 7` of ascending numbers. */
function ranges(numbers: readonly number[]): string {
  const found: [first: number, last: number][] = [];
  for (const number of numbers) {
    const open = found.at(-1);
    if (open !== undefined && open[1] === number - 1) open[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ');
}
