import { AUDIT_COLUMNS, type StoredAuditRow } from '../../store/records/audit/audit.js';
import { findBrokenRow, type PrunedThrough } from '../../store/records/audit/chain.js';
import { type Check, damage } from './finding.js';

/** Checks the chain of the audit log, and reports the first row that does not follow from the one before. */
export const checkAudit: Check = async function* ({ client }) {
  const pruned = client
    .prepare<[], string>(
      `SELECT detail FROM audit WHERE action = 'audit.prune' ORDER BY sequence DESC LIMIT 1`,
    )
    .pluck()
    .get();
  const rows = client
    .prepare<[], StoredAuditRow>(`SELECT ${AUDIT_COLUMNS} FROM audit ORDER BY sequence`)
    .iterate();
  const broken = findBrokenRow(
    rows,
    pruned === undefined ? undefined : (JSON.parse(pruned) as PrunedThrough),
  );
  if (broken === undefined) return;
  yield damage(
    `audit row ${broken.sequence}`,
    broken.problem,
    'A program other than krmhub changed the audit log. Compare it with a backup, and with the heads in the log of the registry.',
  );
};
