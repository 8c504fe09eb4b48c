import type { Release } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { escapeControls } from '../io/text.js';
import { connect } from '../registry/connection.js';
import { parseReleaseReference } from '../registry/function-reference.js';

export interface LifecycleOptions {
  reason?: string;
  output: OutputFormat;
  registry?: string;
}

type LifecycleAction = 'yank' | 'unyank' | 'deprecate';

const DONE: Record<LifecycleAction, string> = { yank: 'yanked', unyank: 'unyanked', deprecate: 'deprecated' };
const CONSEQUENCE: Record<LifecycleAction, string> = {
  yank: 'the next snapshot of every catalog excludes it, and its bytes stay available by digest',
  unyank: 'the next snapshots of catalogs include it again',
  deprecate: 'catalogs still include it',
};

/** Yanks, unyanks or deprecates a release. Prints the result on stderr, and the release with -o json or yaml. */
export async function setLifecycle(
  io: Io,
  action: LifecycleAction,
  reference: string,
  options: LifecycleOptions,
): Promise<void> {
  const { group, kind, release } = parseReleaseReference(reference);
  const reason = options.reason?.trim();
  if (reason === '') {
    throw new KrmhubError('usage', '--reason is empty', {
      hint: 'Add a reason for users, for example: --reason "use 2.0.0"',
    });
  }
  const client = await connect(io, options.registry);
  const before = await client.release(group, kind, release);
  const after =
    action === 'unyank'
      ? await client.unyank(group, kind, release, reason)
      : await client[action](group, kind, release, reason ?? '');
  const name = escapeControls(`${after.group}/${after.kind}@${after.release}`);
  const line = isUnchanged(action, before, after)
    ? `unchanged: ${name} is ${action === 'unyank' ? 'not yanked' : `already ${DONE[action]} for this reason`}`
    : `${DONE[action]} ${name}; ${CONSEQUENCE[action]}`;
  await printLine(io, line);
  await printData(io, options.output, after, async () => undefined);
}

function isUnchanged(action: LifecycleAction, before: Release, after: Release): boolean {
  const field = action === 'deprecate' ? 'deprecated' : 'yanked';
  return before[field]?.at === after[field]?.at && before[field]?.reason === after[field]?.reason;
}
