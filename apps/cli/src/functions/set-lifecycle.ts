import type { Release } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { visible } from '../io/text.js';
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
  yank: 'it leaves the next snapshot of every catalog; its bytes stay for those who pinned it',
  unyank: 'catalogs take it again with their next snapshot',
  deprecate: 'it stays in catalogs, and says so',
};

/** Yanks, unyanks or deprecates one release: says on stderr what was done, and prints the release where asked to. */
export async function setLifecycle(
  io: Io,
  action: LifecycleAction,
  reference: string,
  options: LifecycleOptions,
): Promise<void> {
  const { group, kind, release } = parseReleaseReference(reference);
  const reason = options.reason?.trim();
  if (reason === '') {
    throw new KrmhubError('usage', 'the reason is empty', {
      hint: 'Say in --reason what users need to know.',
    });
  }
  const client = await connect(io, options.registry);
  const before = await client.release(group, kind, release);
  const after =
    action === 'unyank'
      ? await client.unyank(group, kind, release, reason)
      : await client[action](group, kind, release, reason ?? '');
  const name = visible(`${after.group}/${after.kind}@${after.release}`);
  const line = isUnchanged(action, before, after)
    ? `${name} is unchanged: it was ${action === 'unyank' ? 'not yanked' : `${DONE[action]} for this reason already`}`
    : `${DONE[action]} ${name}; ${CONSEQUENCE[action]}`;
  await printLine(io, line);
  await printData(io, options.output, after, async () => undefined);
}

function isUnchanged(action: LifecycleAction, before: Release, after: Release): boolean {
  const field = action === 'deprecate' ? 'deprecated' : 'yanked';
  return before[field]?.at === after[field]?.at && before[field]?.reason === after[field]?.reason;
}
