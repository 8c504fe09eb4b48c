import type { Act } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { inList, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { revokeTokenRow } from '../tokens/tokens.js';
import { removePublisherRow } from '../tokens/trusted-publishers.js';
import { removeClaimRow } from './owner-claims.js';

const ofOthers = (table: string, id: string, rest = '') =>
  text<{ id: string }>(
    inList(
      (teams) =>
        `SELECT ${id} AS id FROM ${table} WHERE team IS NOT NULL AND team NOT IN ${teams} ${rest} ORDER BY ${id}`,
      ':teams',
    ),
  );
const tokens = ofOthers('token', 'id', 'AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :at)');
const publishers = ofOthers('trusted_publisher', 'id');
const claims = ofOthers('owner_claim', 'group_name');

/** Why they end, in the audit log and in the list of tokens. */
const REASON = 'the team was removed';

/**
 * Revokes the tokens, removes the trusted publishers, and deletes the claims of all teams but these: a later team with
 * the same name is another one.
 */
export function* endOtherTeams(teams: readonly string[], act: Act): Work<void> {
  const { at, by, origin } = act;
  const values = { teams: JSON.stringify(teams), at };
  for (const { id } of yield* tokens.all(values)) {
    yield* revokeTokenRow(id, at, { by, reason: REASON, ...defined({ origin }) });
  }
  for (const { id } of yield* publishers.all(values)) yield* removePublisherRow(id, act);
  for (const { id: group } of yield* claims.all(values)) {
    yield* removeClaimRow.run({ group });
    const ended = { action: 'owner.release', object: `group/${group}`, outcome: 'done' } as const;
    yield* appendAudit({ ...act, ...ended, detail: { reason: REASON } });
  }
}
