import type { Token } from '@krmhub/api/model';
import { isLimitedBy } from '@krmhub/api/token-scopes';
import type { Io } from '../io/io.js';
import { printTable } from '../io/print.js';
import { relativeTime } from '../io/time.js';

/** Describes what a token can do and until when. */
export function describeToken(token: Token): string {
  const groups = token.groups.includes('*') ? 'all groups' : `groups ${token.groups.join(', ')}`;
  const expiry =
    token.expiresAt === undefined ? 'does not expire' : `expires ${token.expiresAt.slice(0, 10)}`;
  const repositories = token.repositories.includes('*')
    ? 'all repositories'
    : `repositories ${token.repositories.join(', ')}`;
  const targets = [
    ...(isLimitedBy(token.scopes, 'groups') || isLimitedBy(token.scopes, 'none') ? [groups] : []),
    ...(isLimitedBy(token.scopes, 'repositories') ? [repositories] : []),
  ];
  const team =
    token.user !== undefined ? ', where you may' : token.team === undefined ? '' : ` as team ${token.team}`;
  const isWide =
    token.team === undefined &&
    token.user === undefined &&
    token.scopes.some((scope) => scope !== 'audit' && scope !== 'scim');
  const wide = isWide && targets.some((target) => target.startsWith('all ')) ? ', private ones too' : '';
  return `can ${token.scopes.join(', ')} in ${targets.join(' and ')}${wide}${team}, ${expiry}`;
}

/** Characters of an ID that a terminal shows; `token revoke` accepts them. */
const SHORT_ID = 8;

export async function printTokens(io: Io, tokens: readonly Token[]): Promise<void> {
  const now = io.now();
  const team = (token: Token) => token.team ?? '-';
  const user = (token: Token) => token.user?.name ?? '-';
  const hasTeams = tokens.some((token) => token.team !== undefined);
  const hasUsers = tokens.some((token) => token.user !== undefined);
  const columns = [
    { header: 'ID' },
    { header: 'NAME', min: 8 },
    { header: 'SCOPES', min: 12 },
    { header: 'GROUPS', min: 8 },
    { header: 'CREATED', min: 10 },
    { header: 'EXPIRES', min: 10 },
    { header: 'LAST USED' },
    ...(hasTeams ? [{ header: 'TEAM' }] : []),
    ...(hasUsers ? [{ header: 'USER' }] : []),
  ];
  await printTable(io, columns, tokens, {
    terminal: (token) => [
      token.id.slice(0, SHORT_ID),
      token.name,
      scopes(token),
      token.groups.join(','),
      `${relativeTime(token.createdAt, now)} by ${token.createdBy}`,
      expiry(token, now),
      token.lastUsedAt === undefined ? 'never' : relativeTime(token.lastUsedAt, now),
      ...(hasTeams ? [team(token)] : []),
      ...(hasUsers ? [user(token)] : []),
    ],
    pipe: (token) => [
      token.id,
      token.name,
      scopes(token),
      token.groups.join(','),
      token.revokedAt === undefined ? (token.expiresAt ?? 'never') : revocation(token, token.revokedAt),
      token.lastUsedAt ?? 'never',
      token.createdAt,
      token.createdBy,
      team(token),
      user(token),
    ],
  });
}

/** Repositories are shown with the scope `push`, because most tokens do not have it. */
function scopes({ scopes, repositories }: Token): string {
  const where = repositories.includes('*') ? '' : `:${repositories.join('+')}`;
  return scopes.map((scope) => (scope === 'push' ? `push${where}` : scope)).join(',');
}

function expiry(token: Token, now: Date): string {
  if (token.revokedAt !== undefined) return revocation(token, relativeTime(token.revokedAt, now));
  return relativeExpiry(token.expiresAt, now);
}

/** Says when a token expires, which is never without a time. */
export function relativeExpiry(expiresAt: string | undefined, now: Date): string {
  if (expiresAt === undefined) return 'never';
  return Date.parse(expiresAt) <= now.getTime() ? 'expired' : relativeTime(expiresAt, now);
}

function revocation({ revokedBy, revokedReason }: Token, when: string): string {
  const by = revokedBy === undefined ? '' : ` by ${revokedBy}`;
  return `revoked ${when}${by}${revokedReason === undefined ? '' : `, ${revokedReason}`}`;
}
