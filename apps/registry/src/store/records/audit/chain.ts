import type { AuditHead, NewAuditRow } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { withoutTokens } from '../../../log.js';

/** Longest text of a row: clients choose some of them. */
const MAX_TEXT = 500;

/** A row as its columns are. `detail` is JSON. */
export interface AuditColumns {
  at: string;
  actor: string;
  action: string;
  object: string;
  outcome: string;
  credential: string | null;
  address: string | null;
  requestId: string | null;
  detail: string | null;
}

/** Returns the columns of a new row: texts that both databases store as they are, that are short, and that have no token. */
export function auditColumns({ at, by, action, object, outcome, detail, origin }: NewAuditRow): AuditColumns {
  const { credential, address, requestId } = origin ?? {};
  return {
    at,
    actor: clean(by),
    action,
    object: clean(object),
    outcome,
    credential: credential === undefined ? null : clean(credential),
    address: address === undefined ? null : clean(address),
    requestId: requestId === undefined ? null : clean(requestId),
    detail: detail === undefined ? null : JSON.stringify(detail, (_, value) => short(value)),
  };
}

function short(value: unknown): unknown {
  return typeof value === 'string' ? clean(value) : value;
}

/** PostgreSQL stores no U+0000, and neither database half of a surrogate pair. */
function clean(text: string): string {
  return withoutTokens(text)
    .slice(0, MAX_TEXT)
    .replaceAll('\0', '\ufffd')
    .replace(/\p{Surrogate}/gu, '\ufffd');
}

/**
 * Returns what the hash of a row covers, after the hash of the row before and `[SEQUENCE,`: the database adds both,
 * because it knows them first when it inserts the row.
 */
export function hashedContent(row: AuditColumns): string {
  const { at, actor, action, object, outcome, credential, address, requestId, detail } = row;
  const values = [at, actor, action, object, outcome, credential, address, requestId, detail];
  return JSON.stringify(values).slice(1);
}

/** Returns the hash that a row must have after the one with the hash `before`, which is empty for the first row. */
export function rowHash(before: Digest | '', sequence: number, row: AuditColumns): Digest {
  return sha256(`${before}\n[${sequence},${hashedContent(row)}`);
}

/** Where a pruned log begins: the newest row `audit.prune` has it. */
export interface PrunedThrough {
  through: number;
  hash: Digest;
}

/** Returns the first row that does not follow from the one before, and why; undefined if the chain is whole. */
export function findBrokenRow(
  rows: Iterable<AuditColumns & AuditHead>,
  pruned: PrunedThrough | undefined,
): { sequence: number; problem: string } | undefined {
  let last: { sequence: number; hash: Digest | '' } | undefined;
  for (const row of rows) {
    const { sequence, hash } = row;
    last ??= pruned?.through === sequence - 1 ? { sequence: pruned.through, hash: pruned.hash } : undefined;
    last ??= { sequence: 0, hash: '' };
    if (sequence !== last.sequence + 1) return { sequence, problem: 'the row before it is missing' };
    if (rowHash(last.hash, sequence, row) !== hash) {
      return { sequence, problem: 'it, or the hash of the row before it, was changed' };
    }
    last = row;
  }
  return undefined;
}
