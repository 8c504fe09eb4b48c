import type { Release } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import { formatReplacement } from '@krmhub/schema/documents/replacement';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { connect } from '../registry/connection.js';
import { findReleaseName } from '../registry/find-function-name.js';
import { parseReleaseReference, parseReplacement } from '../registry/function-reference.js';

export interface LifecycleOptions {
  reason?: string;
  /** What to use instead, as `GROUP/KIND[@RANGE]`; only to deprecate. */
  use?: string;
  output: OutputFormat;
  registry?: string;
}

type LifecycleAction = 'yank' | 'unyank' | 'deprecate' | 'undeprecate';

const DONE: Record<LifecycleAction, string> = {
  yank: 'yanked',
  unyank: 'unyanked',
  deprecate: 'deprecated',
  undeprecate: 'undeprecated',
};
const CONSEQUENCE: Record<LifecycleAction, string> = {
  yank: 'the next snapshot of every catalog excludes it, and its bytes stay available by digest',
  unyank: 'the next snapshots of catalogs include it again',
  deprecate: 'catalogs still include it',
  undeprecate: 'it is a current release again',
};

const UNCHANGED: Record<LifecycleAction, string> = {
  yank: 'already yanked for this reason',
  unyank: 'not yanked',
  deprecate: 'already deprecated for this reason',
  undeprecate: 'not deprecated',
};

/**
 * Yanks, unyanks, deprecates, or undeprecates a release. Prints the result on stderr, and the release with -o json or
 * yaml.
 */
export async function setLifecycle(
  io: Io,
  action: LifecycleAction,
  reference: string,
  options: LifecycleOptions,
): Promise<void> {
  const named = parseReleaseReference(reference);
  const reason = options.reason?.trim();
  if (reason === '') {
    throw new KrmhubError('usage', '--reason is empty', {
      hint: 'Add a reason for users, for example: --reason "use 2.0.0"',
    });
  }
  const replacement = options.use === undefined ? undefined : parseReplacement(options.use);
  if (action === 'deprecate' && reason === undefined && replacement === undefined) {
    throw new KrmhubError('usage', 'neither --use nor --reason is given', {
      hint: 'Name what to use instead, for example: --use example.com/SetAll@^2.0.0',
    });
  }
  const client = await connect(io, options.registry);
  const { group, kind, release } = await findReleaseName(client, named);
  const before = await client.release(group, kind, release);
  const after =
    action === 'deprecate'
      ? await client.deprecate(group, kind, release, defined({ reason, replacement }))
      : action === 'yank'
        ? await client.yank(group, kind, release, reason ?? '')
        : await client[action](group, kind, release, reason);
  const name = escapeControls(`${after.group}/${after.kind}@${after.release}`);
  const line = isUnchanged(action, before, after)
    ? `unchanged: ${name} is ${UNCHANGED[action]}`
    : `${DONE[action]} ${name}; ${CONSEQUENCE[action]}`;
  await printLine(io, line);
  if (action === 'yank') {
    const { readConsumers } = await import('./consumer-counts.js');
    const counts = await readConsumers(client, { group, kind });
    const locked = counts?.releases.filter((one) => one.release === release) ?? [];
    const packages = locked.reduce((sum, one) => sum + one.packages, 0);
    if (packages > 0)
      await printLine(
        io,
        `  ${plural(packages, 'package')} reported that ${packages === 1 ? 'it locks' : 'they lock'} it`,
      );
  }
  const { replacement: used } = after.deprecated ?? {};
  if (action === 'deprecate' && used !== undefined) {
    await printLine(io, escapeControls(`  users are told to use ${formatReplacement(used)}`));
  }
  await printData(io, options.output, after, async () => undefined);
}

function isUnchanged(action: LifecycleAction, before: Release, after: Release): boolean {
  const field = action === 'deprecate' || action === 'undeprecate' ? 'deprecated' : 'yanked';
  return JSON.stringify(before[field]) === JSON.stringify(after[field]);
}
