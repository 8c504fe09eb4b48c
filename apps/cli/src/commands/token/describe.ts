import type { Token } from '@krmhub/api/model';
import type { Io } from '../../io.js';
import { printTable } from '../../output/print.js';
import { relativeTime } from '../../output/time.js';

/** What a token may do and until when, in words. */
export function describeToken(token: Token): string {
  const groups = token.groups.includes('*') ? 'every group' : `the groups ${token.groups.join(', ')}`;
  const until = token.expiresAt === undefined ? 'without an end' : `until ${token.expiresAt.slice(0, 10)}`;
  return `may ${token.scopes.join(', ')} in ${groups}, ${until}`;
}

/** Digits of an ID that a terminal shows; `token revoke` takes them. */
const SHORT_ID = 8;

export async function printTokens(io: Io, tokens: readonly Token[]): Promise<void> {
  const now = io.now();
  const columns = [
    { header: 'ID' },
    { header: 'NAME', min: 8 },
    { header: 'SCOPES' },
    { header: 'GROUPS', min: 8 },
    { header: 'ENDS' },
    { header: 'USED' },
  ];
  await printTable(io, columns, tokens, {
    terminal: (token) => [
      token.id.slice(0, SHORT_ID),
      token.name,
      token.scopes.join(','),
      token.groups.join(','),
      endOf(token, now),
      token.lastUsedAt === undefined ? 'never' : relativeTime(token.lastUsedAt, now),
    ],
    pipe: (token) => [
      token.id,
      token.name,
      token.scopes.join(','),
      token.groups.join(','),
      token.revokedAt === undefined ? (token.expiresAt ?? 'never') : revoked(token),
      token.lastUsedAt ?? 'never',
    ],
  });
}

function endOf(token: Token, now: Date): string {
  if (token.revokedAt !== undefined) return revoked(token);
  if (token.expiresAt === undefined) return 'never';
  return Date.parse(token.expiresAt) <= now.getTime() ? 'expired' : relativeTime(token.expiresAt, now);
}

function revoked({ revokedReason }: Token): string {
  return revokedReason === undefined ? 'revoked' : `revoked, ${revokedReason}`;
}
