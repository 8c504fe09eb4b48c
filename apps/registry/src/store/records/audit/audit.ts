/**
 * The audit log: who did what, when, and from where. Rows are only appended, in the transaction of what they record.
 *
 * Each row has the hash of its content and of the row before (chain.ts), so a row that was changed, removed, or
 * inserted breaks the chain. A prune deletes the oldest rows and appends the hash of the last of them. Events are the
 * public history; for those that someone caused, append-event.ts adds the row.
 *
 * @module
 */

import type { AuditFilter, AuditHead, AuditPage, AuditQuery, AuditRow, AuditStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { Sql } from '../../sql/sql.js';
import { inList, text } from '../../sql/statement.js';
import { appendAudit } from './append-audit.js';
import type { AuditColumns } from './chain.js';

/** Rows that a read examines at a time, and for one page: a filter can match few rows. */
const SPAN = 1_000;
const MAX_EXAMINED = 200_000;

/** A row of the table. */
export type StoredAuditRow = AuditColumns & AuditHead;

/** Columns of a row, for a SELECT. */
export const AUDIT_COLUMNS = `sequence, at, actor, action, object, outcome, credential, address,
  request_id AS "requestId", detail, hash`;

const head = text<AuditHead>('SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1');
interface Bounds {
  first: number | null;
  last: number | null;
}
const bounds = (condition: string) =>
  text<Bounds>(`SELECT min(sequence) AS first, max(sequence) AS last FROM audit ${condition}`);
// SQLite finds one of them without a scan, but not both.
const allBounds = text<Bounds>(
  'SELECT (SELECT min(sequence) FROM audit) AS first, (SELECT max(sequence) FROM audit) AS last',
);
const sinceBounds = bounds('WHERE at >= :since');
const untilBounds = bounds('WHERE at <= :until');
const periodBounds = bounds('WHERE at >= :since AND at <= :until');

/** An empty text is a filter that is not set. */
const inSpan = text<StoredAuditRow>(
  `SELECT ${AUDIT_COLUMNS} FROM audit WHERE sequence >= :from AND sequence <= :to
     AND (:actor = '' OR actor = :actor OR credential = :actor)
     AND (:action = '' OR action = :action OR substr(action, 1, length(:action) + 1) = :action || '.')
     AND substr(object, 1, length(:object)) = :object
     AND (:outcome = '' OR outcome = :outcome)
     AND (:hasSince = 0 OR at >= :since) AND (:hasUntil = 0 OR at <= :until)
   ORDER BY sequence DESC LIMIT :limit`,
);
const hashAt = text<{ hash: string }>('SELECT hash FROM audit WHERE sequence = :sequence');
const oldest = text<{ sequence: number; at: string }>(
  'SELECT sequence, at FROM audit ORDER BY sequence LIMIT 1',
);
const remove = text('DELETE FROM audit WHERE sequence <= :through');
const knownKeys = text<{ object: string }>(
  inList(
    (objects) => `SELECT object FROM audit WHERE action = 'key.add' AND object IN ${objects}`,
    ':objects',
  ),
);

export function auditRows({ read, readOne, write, durable }: Sql): AuditStore {
  return {
    recordAct: (row) => write(() => appendAudit(row)),
    async auditRows(filter, query) {
      const page = await readPage(read, filter, query);
      // A client takes a row for recorded: a power cut must not remove it.
      await durable();
      return page;
    },
    auditHead: () => readOne(() => head.first()),
    pruneAudit: ({ before, at, limit }) =>
      write(function* () {
        const { first, last } = (yield* allBounds.first())!;
        if (first === null || last === null) return 0;
        const { first: kept } = (yield* sinceBounds.first({ since: before }))!;
        const through = Math.min((kept ?? last) - 1, first + limit - 1);
        if (through < first) return 0;
        const rows = through - first + 1;
        const { hash } = (yield* hashAt.first({ sequence: through }))!;
        yield* remove.run({ through });
        const pruned = { action: 'audit.prune', object: 'audit', detail: { through, hash, rows } } as const;
        yield* appendAudit({ at, by: 'krmhub', outcome: 'done', ...pruned });
        return rows;
      }),
    recordKeys: (keys, at) =>
      write(function* () {
        const rows = keys.map(({ fingerprint, validFrom }) => ({
          ...{ at, by: 'krmhub', action: 'key.add' as const, object: `key/${fingerprint}` },
          ...{ outcome: 'done' as const, detail: { validFrom } },
        }));
        const objects = JSON.stringify(rows.map(({ object }) => object));
        const known = new Set((yield* knownKeys.all({ objects })).map(({ object }) => object));
        const first = yield* oldest.first();
        // The rows of older keys may be deleted.
        const isOld = (validFrom: string) =>
          first !== undefined && first.sequence > 1 && validFrom < first.at;
        for (const row of rows) {
          if (!known.has(row.object) && !isOld(row.detail.validFrom)) yield* appendAudit(row);
        }
      }),
  };
}

/** Examines the rows in spans, so that the thread is free in between. */
async function readPage(
  read: Sql['read'],
  { actor = '', action = '', object = '', outcome, since, until }: AuditFilter,
  { before, limit, maxExamined = MAX_EXAMINED }: AuditQuery,
): Promise<AuditPage> {
  const period = { since: since ?? null, until: until ?? null };
  const times = { ...period, hasSince: since === undefined ? 0 : 1, hasUntil: until === undefined ? 0 : 1 };
  const statement =
    since === undefined
      ? until === undefined
        ? allBounds
        : untilBounds
      : until === undefined
        ? sinceBounds
        : periodBounds;
  const { first, last } = (await read(() => statement.first(period)))!;
  if (first === null || last === null) return { rows: [] };
  const rows: AuditRow[] = [];
  let to = Math.min(last, (before ?? Number.POSITIVE_INFINITY) - 1);
  const end = Math.max(first, to - maxExamined + 1);
  while (to >= end) {
    const from = Math.max(end, to - SPAN + 1);
    const left = limit - rows.length;
    const range = { from, to, actor, action, object, outcome: outcome ?? '', ...times, limit: left };
    const found = await read(() => inSpan.all(range));
    rows.push(...found.map(auditRow));
    if (found.length === left) {
      to = found.at(-1)!.sequence - 1;
      break;
    }
    to = from - 1;
  }
  return { rows, ...defined({ next: to >= first ? to + 1 : undefined }) };
}

export function auditRow({ credential, address, requestId, detail, ...row }: StoredAuditRow): AuditRow {
  return {
    ...(row as Pick<AuditRow, 'sequence' | 'at' | 'actor' | 'action' | 'object' | 'outcome' | 'hash'>),
    ...defined({
      credential: credential ?? undefined,
      address: address ?? undefined,
      requestId: requestId ?? undefined,
      detail: detail === null ? undefined : (JSON.parse(detail) as AuditRow['detail']),
    }),
  };
}
