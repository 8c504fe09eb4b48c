import type { TakedownResult } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import { requireConfirmation } from '../io/confirm.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { relativeTime } from '../io/time.js';
import { connect } from '../registry/connection.js';
import { parseReleaseReference } from '../registry/function-reference.js';

type TakenDownSigner = NonNullable<TakedownResult['takedowns'][number]['signers']>[number];

export interface TakedownOptions {
  reason: string;
  /** Refuse the images, executables, and scripts of the definition, also in other releases. */
  refuseRuntimes?: boolean;
  /** Allow them again after a takedown. */
  allowRuntimes?: boolean;
  dryRun?: boolean;
  /** Do not ask. */
  yes?: boolean;
  output: OutputFormat;
  registry?: string;
}

/**
 * Takes a release down after it asks, naming everything that goes. Prints the effects on stderr, and the response with
 * -o json or yaml.
 */
export async function takeDown(io: Io, reference: string, options: TakedownOptions): Promise<void> {
  const { group, kind, release } = parseReleaseReference(reference);
  // What cannot be undone is named in full.
  if (group === undefined) {
    throw new KrmhubError('usage', `${JSON.stringify(reference)} has no group`, {
      hint: `Use GROUP/KIND@RELEASE, for example: example.com/${reference}. To find the group, run: krmhub show ${kind}`,
    });
  }
  const reason = options.reason.trim();
  if (reason === '') {
    throw new KrmhubError('usage', '--reason is empty', {
      hint: 'Add a public reason, for example: --reason "contains a password"',
    });
  }
  const { refuseRuntimes = false, allowRuntimes = false } = options;
  if (refuseRuntimes && allowRuntimes) {
    throw new KrmhubError('usage', '`--refuse-runtimes` and `--allow-runtimes` cannot be used together');
  }
  const runtimes = refuseRuntimes ? 'refuse' : allowRuntimes ? 'allow' : undefined;
  const client = await connect(io, options.registry);
  const request = { reason, ...defined({ runtimes }) } as const;
  const ask = async (dryRun?: boolean) => {
    const result = await client.takedown(group, kind, release, request, { dryRun });
    if (runtimes !== undefined && result.refused === undefined) throw ignoredRuntimes(runtimes, result);
    return result;
  };
  if (options.dryRun !== true && options.yes !== true) {
    const name = `${group}/${kind}@${release}`;
    await requireConfirmation(
      io,
      `take down ${name}`,
      'Delete all of this permanently? You cannot undo it.',
      async () => {
        const preview = await ask(true);
        if (preview.outcome !== 'taken-down') return false;
        for (const line of effectLines(preview, io.now())) await printLine(io, escapeControls(line));
        return true;
      },
    );
  }
  const result = await ask(options.dryRun);
  const last = result.dryRun ? ['dry run, nothing was changed'] : eraseWarning(result.erased);
  for (const line of [...effectLines(result, io.now()), ...last]) await printLine(io, escapeControls(line));
  await printData(io, options.output, result, async () => undefined);
}

function ignoredRuntimes(runtimes: 'refuse' | 'allow', { dryRun, outcome }: TakedownResult): KrmhubError {
  const done = !dryRun && outcome === 'taken-down' ? 'took the release down, but ' : '';
  return new KrmhubError('unavailable', `the registry ${done}ignored \`--${runtimes}-runtimes\``, {
    hint: 'Upgrade the registry, then run the command again.',
  });
}

/** Returns what a takedown deletes, or would delete, by name. */
function effectLines(result: TakedownResult, now: Date): string[] {
  const { outcome, dryRun, takedowns } = result;
  const names = takedowns.map(({ group, kind, release }) => `${group}/${kind}@${release}`).join(', ');
  if (outcome === 'unchanged') {
    const [{ at, by, reason } = { at: '', by: '', reason: '' }] = takedowns;
    return [`unchanged: ${names} was taken down ${relativeTime(at, now)} by ${by}: ${reason}`];
  }
  if (outcome === 'allowed') return [`${dryRun ? 'would allow' : 'allowed'} the runtimes of ${names} again`];
  const lines = [`${dryRun ? 'would take' : 'took'} down ${names}`];
  if (takedowns.length > 1) lines.push('  all of them have the same bytes');
  const files = [
    ...result.blobs.map((one) => ({ ...one, what: '' })),
    ...result.scripts.map((one) => ({ ...one, what: ' the script' })),
  ];
  for (const { digest, keptBy, what } of files) {
    if (keptBy.length === 0) {
      lines.push(`  ${dryRun ? 'would delete' : 'deleted'}${what}`, `    ${digest}`);
      continue;
    }
    const others = keptBy.map(({ group, kind, release }) => `${group}/${kind}@${release}`);
    const some = others.length > 5 ? [...others.slice(0, 5), '…'] : others;
    lines.push(
      `  ${dryRun ? 'would keep' : 'kept'}${what}, because it is also used by ${some.join(', ')}`,
      `    ${digest}`,
    );
  }
  for (const digest of result.refused ?? []) {
    lines.push(`  clients ${dryRun ? 'would refuse' : 'refuse'} to run`, `    ${digest}`);
  }
  if (result.repositories.length > 0) {
    const some = result.repositories.slice(0, 20);
    const more = result.repositories.length > some.length ? ', …' : '';
    lines.push(
      `  copies and their referrers ${dryRun ? 'would be deleted' : 'deleted'} from ${some.join(', ')}${more}`,
    );
  }
  for (const [catalog, serials] of withdrawnByCatalog(result)) {
    lines.push(
      `  ${plural(serials.length, 'snapshot')} of ${catalog} ${dryRun ? 'would be withdrawn' : 'withdrawn'}: ${ranges(serials)}`,
    );
    if (dryRun) continue;
    const newest = result.catalogs.find((one) => one.catalog === catalog);
    lines.push(
      newest === undefined
        ? `  ${catalog} has no snapshot yet; the registry returns status 503 until it is built`
        : `  ${catalog} is now at snapshot ${newest.serial}`,
    );
  }
  const signers = new Set(takedowns.flatMap(({ signers = [] }) => signers.map(describeSigner)));
  if (signers.size > 0) {
    lines.push('  unless a signing policy covers them, later releases still need a signature by');
    for (const signer of signers) lines.push(`    ${signer}`);
  }
  return lines;
}

function describeSigner({ type, fingerprint, issuer, subject }: TakenDownSigner): string {
  if (type === 'key') return `key ${fingerprint}`;
  return type === 'identity' ? `${subject} (${issuer})` : 'a key that the registry could not identify';
}

function eraseWarning(erased: boolean): string[] {
  if (erased) return [];
  return [
    'some files are not deleted from the disk yet; see the log of the registry, then run this command again',
  ];
}

function withdrawnByCatalog({ withdrawn }: TakedownResult): Map<string, number[]> {
  const catalogs = new Map<string, number[]>();
  for (const { catalog, serial } of withdrawn) {
    catalogs.set(catalog, [...(catalogs.get(catalog) ?? []), serial]);
  }
  return catalogs;
}

/** Formats ascending numbers as ranges, for example `1–3, 7`. */
function ranges(numbers: readonly number[]): string {
  const found: [first: number, last: number][] = [];
  for (const number of numbers) {
    const open = found.at(-1);
    if (open !== undefined && open[1] === number - 1) open[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ');
}
