import { createHash } from 'node:crypto';
import {
  type AddedSegment,
  compareFunctionNames,
  type SegmentChanges,
  type SegmentReader,
  type SnapshotRecord,
  snapshotFrame,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';

/** The text between two lines of `snapshot.json`. */
export const SNAPSHOT_BETWEEN = ',\n';

/**
 * Returns the digest of `snapshot.json` of a snapshot before its commit: from the lines of the stored segments and of
 * the changed ones, because rendering every entry again would take longer than the rest of a build.
 */
export async function snapshotDigest(
  store: SegmentReader,
  snapshot: SnapshotRecord,
  { removed, added }: SegmentChanges,
): Promise<Digest> {
  const frame = snapshotFrame(snapshot);
  const hash = createHash('sha256');
  let lead: string | undefined = frame.head;
  const write = (lines: string) => {
    hash.update(lead ?? SNAPSHOT_BETWEEN);
    hash.update(lines);
    lead = undefined;
  };
  const key = ({ group, kind }: FunctionName) => `${group}/${kind}`;
  const replaced = new Set([...removed, ...added].map(key));
  const left: AddedSegment[] = [...added].sort(compareFunctionNames).reverse();
  for await (const stored of store.segmentLines(snapshot.catalog)) {
    while (left.length > 0 && compareFunctionNames(left.at(-1)!, stored) <= 0) write(left.pop()!.lines);
    if (!replaced.has(key(stored))) write(stored.lines);
  }
  while (left.length > 0) write(left.pop()!.lines);
  hash.update(lead === undefined ? frame.end : frame.empty);
  return `sha256:${hash.digest('hex')}`;
}
