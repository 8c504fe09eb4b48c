import type { NewAuditRow } from '@krmhub/catalog';
import { type StatementCall, text, type Work } from '../../sql/statement.js';
import { auditColumns, hashedContent } from './chain.js';

const NEXT = '(SELECT coalesce(max(sequence), 0) + 1 FROM audit)';
const COLUMNS = 'sequence, at, actor, action, object, outcome, credential, address, request_id, detail, hash';
const VALUES = ':at, :actor, :action, :object, :outcome, :credential, :address, :requestId, :detail';
/** `rowHash`, made by the database, so that an insertion is one statement. */
const hashed = (newline: string) =>
  `coalesce((SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1), '') || ${newline} || '[' || ${NEXT} || ',' || :content`;

// No other writer numbers a row meanwhile, so there is one chain.
const insert = text<never>({
  sqlite: `INSERT INTO audit (${COLUMNS}) VALUES (${NEXT}, ${VALUES}, text_digest(${hashed('char(10)')}))`,
  postgres: `INSERT INTO audit (${COLUMNS}) VALUES (${NEXT}, ${VALUES},
    'sha256:' || encode(sha256(convert_to(${hashed('chr(10)')}, 'UTF8')), 'hex'))`,
});

/** Returns the insertion of a row for `together`, which can have one of them. */
export function auditChange(row: NewAuditRow): StatementCall {
  const columns = auditColumns(row);
  return insert.later({ ...columns, content: hashedContent(columns) });
}

/** Appends a row to the audit log. */
export function* appendAudit(row: NewAuditRow): Work<void> {
  yield auditChange(row);
}
