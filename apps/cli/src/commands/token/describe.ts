import type { Token } from '@krmhub/api/model';
import type { Io } from '../../io/io.js';
import { printTable } from '../../io/print.js';
import { relativeTime } from '../../io/time.js';

/** What a token may do and until when, in words. */
export function describeToken(token: Token): string {
  const groups = token.groups.includes('*') ? 'every group' : `the groups ${token.groups.join(', ')}`;
  const until = token.expiresAt === undefined ? 'without an end' : `until ${token.expiresAt.slice(0, 10)}`;
  const repositories = token.repositories.includes('*') ? 'every repository' : token.repositories.join(', ');
  const places = [
    ...(token.scopes.some((scope) => scope !== 'push') ? [groups] : []),
    ...(token.scopes.includes('push') ? [repositories] : []),
  ];
  return `may ${token.scopes.join(', ')} in ${places.join(' and ')}, ${until}`;
}

/** Digits of an ID that a terminal shows; `token revoke` takes them. */
const SHORT_ID = 8;

export async function printTokens(io: Io, tokens: readonly Token[]): Promise<void> {
  const now = io.now();
  const columns = [
    { header: 'ID' },
    { header: 'NAME', min: 8 },
    { header: 'SCOPES', min: 12 },
    { header: 'GROUPS', min: 8 },
    { header: 'ENDS' },
    { header: 'USED' },
  ];
  await printTable(io, columns, tokens, {
    terminal: (token) => [
      token.id.slice(0, SHORT_ID),
      token.name,
      scopesOf(token),
      token.groups.join(','),
      endOf(token, now),
      token.lastUsedAt === undefined ? 'never' : relativeTime(token.lastUsedAt, now),
    ],
    pipe: (token) => [
      token.id,
      token.name,
      scopesOf(token),
      token.groups.join(','),
      token.revokedAt === undefined ? (token.expiresAt ?? 'never') : revoked(token),
      token.lastUsedAt ?? 'never',
    ],
  });
}

/** Where it may push stands with the scope, since most tokens cannot. */
function scopesOf({ scopes, repositories }: Token): string {
  const where = repositories.includes('*') ? '' : `:${repositories.join('+')}`;
  return scopes.map((scope) => (scope === 'push' ? `push${where}` : scope)).join(',');
}

function endOf(token: Token, now: Date): string {
  if (token.revokedAt !== undefined) return revoked(token);
  if (token.expiresAt === undefined) return 'never';
  return Date.parse(token.expiresAt) <= now.getTime() ? 'expired' : relativeTime(token.expiresAt, now);
}

function revoked({ revokedReason }: Token): string {
  return revokedReason === undefined ? 'revoked' : `revoked, ${revokedReason}`;
}
