import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { waitForAsyncWork } from './points.js';
import { startServer } from './server.js';
import { attach, type Call, calls } from './strace.js';
import { definition, LARGE, newLedger, publish, releasePath, type Sent } from './workload.js';

/**
 * A kill cannot show a missing sync: the kernel keeps what a killed process wrote, a power failure does
 * not. So this reads the trace of a publish: the row is synced before the response is sent. If the files of
 * the release are large, their bytes are synced before they get their name, and the name before the row is
 * written.
 */
export async function checkPublishOrder(scratch: string, publishes: number): Promise<string[]> {
  const server = await startServer(path.join(scratch, 'data'));
  if (server === undefined) throw new Error('the server does not start');
  const ledger = newLedger();
  const trace = path.join(scratch, 'order.trace');
  const sent: Sent[] = [];
  try {
    const attached = await attach(server.pid, trace, [
      '-f',
      '-y',
      // Enough to find a digest in a page of the database.
      ...['-s', '5000'],
      ...['-e', 'trace=write,writev,sendto,pwrite64,fsync,fdatasync,mkdir,mkdirat,rename,renameat,renameat2'],
    ]);
    for (let at = 0; at < publishes; at++) {
      const one: Sent = {
        kind: `Ordered${at}`,
        release: '1.0.0',
        // Small files are rows, large files are blobs.
        body: definition(`Ordered${at}`, '1.0.0') + (at < publishes / 2 ? '' : LARGE),
        ...(at % 2 === 0 ? { readme: `# Ordered ${at}\n${LARGE}` } : {}),
        acknowledged: false,
        yanked: false,
      };
      await publish(server, ledger, one, '');
      sent.push(one);
    }
    // The last response may arrive before the trace has the end of the call that sent it.
    await waitForAsyncWork();
    await attached.detach();
  } finally {
    await server.stop('SIGTERM');
  }
  const made = calls(trace).filter(({ failed }) => !failed);
  return [
    ...ledger.wrongResponses,
    ...sent
      .filter(({ acknowledged }) => !acknowledged)
      .map((one) => `${releasePath(one)} was not acknowledged`),
    ...sent.flatMap((one) => orderViolations(made, one)),
  ];
}

/** Returns the violations of that order in a publish. Exported for the test that it finds them. */
export function orderViolations(made: readonly Call[], { kind, release, body, readme }: Sent): string[] {
  const name = `${kind}@${release}`;
  const digest = sha256(body).slice(7);
  const row = made.find(
    ({ name: call, args }) => call === 'pwrite64' && /-wal>/.test(args) && args.includes(digest),
  );
  if (row === undefined) return [`${name}: its row is not in the trace`];
  const problems: string[] = [];
  const blobs = [body, ...(readme === undefined ? [] : [readme])]
    .filter((text) => Buffer.byteLength(text) > SERVER_LIMITS.maxFileRowBytes)
    .map((text) => sha256(text).slice(7));
  for (const blob of blobs) {
    problems.push(...blobViolations(made, blob, row).map((problem) => `${name}: ${problem}`));
  }
  const synced = made.find(
    ({ name: call, args, began }) => isSync(call) && /-wal>/.test(args) && began > row.ended,
  );
  const answer = made.find(
    ({ name: call, args, began }) =>
      ['write', 'writev', 'sendto'].includes(call) &&
      /socket/.test(args) &&
      args.includes(digest) &&
      began > row.ended,
  );
  if (answer === undefined) problems.push(`${name}: its response is not in the trace`);
  else if (synced === undefined || synced.ended > answer.began) {
    problems.push(`${name}: it is acknowledged before its row is synced`);
  }
  return problems;
}

function blobViolations(made: readonly Call[], blob: string, row: Call): string[] {
  const shard = `/${blob.slice(0, 2)}>`;
  const named = made.find(({ name, args }) => name.startsWith('rename') && args.includes(`/${blob}"`));
  if (named === undefined) return [`${blob} is not renamed`];
  const unfinished = /unfinished\/([\w-]+)/.exec(named.args)?.[1] ?? 'no file';
  const written = made.findLast(
    ({ name, args }) => /^p?write/.test(name) && args.includes(`/${unfinished}>`),
  );
  const synced = made.find(({ name, args }) => isSync(name) && args.includes(`/${unfinished}>`));
  const listed = made.find(
    ({ name, args, began }) => isSync(name) && args.includes(`sha256${shard}`) && began > named.ended,
  );
  // Folders of other kinds of blobs have shards of the same names.
  const [, ofKind] = new RegExp(`/(\\w+/sha256)/../${blob}"`).exec(named.args) ?? [];
  const shardMade = made.find(
    ({ name, args }) => name.startsWith('mkdir') && args.includes(`/${ofKind}${shard.replace('>', '"')}`),
  );
  const shardListed = made.find(
    ({ name, args, began }) =>
      isSync(name) && args.includes(`/${ofKind}>`) && began > (shardMade?.ended ?? 0),
  );
  const problems: string[] = [];
  if (shardMade !== undefined && (shardListed === undefined || shardListed.ended > row.began)) {
    problems.push(`${blob}: the row that names it is written before its new folder is durable`);
  }
  if (written === undefined) problems.push(`${blob} is not written`);
  if (synced === undefined || synced.ended > named.began || (written && written.ended > synced.began)) {
    problems.push(`${blob} gets its name before it is synced`);
  }
  if (listed === undefined || listed.ended > row.began) {
    problems.push(`${blob}: the row that names it is written before its folder is synced`);
  }
  return problems;
}

function isSync(call: string): boolean {
  return call === 'fsync' || call === 'fdatasync';
}
