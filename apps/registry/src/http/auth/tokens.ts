import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { TOKEN_SCOPES, type TokenScope } from '@krmhub/api/token-scopes';
import {
  type DecidedThrough,
  groupsOfOther,
  type TokenRecord,
  type TokenStore,
  type UserRecord,
} from '@krmhub/catalog';
import type { RequestOrigin } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { plural } from '@krmhub/schema/text';
import { syncFolder, writeDurably } from '@krmhub/sources/durable-file';
import { SERVER_LIMITS } from '../../limits.js';
import { type OpenSignIn, sealSignIn } from './open-sign-in.js';
import type { UserSettings } from './user-session.js';

/**
 * `krmhub_`, 32 random bytes and their CRC-32, both in hexadecimal. Scanners find a leaked token by its prefix, and a
 * mistyped token is recognized without the database.
 */
const TOKEN_PATTERN = /^krmhub_([a-f0-9]{64})([a-f0-9]{8})$/;
const MILLISECONDS_PER_DAY = 86_400_000;
/** Days for which the groups of a user count after the last sign-in, if the provider cannot be asked. */
const DEFAULT_CONFIRM_DAYS = 30;

export function newSecret(): string {
  const random = randomBytes(32).toString('hex');
  return `krmhub_${random}${checksum(random)}`;
}

/** Reports whether the text can be a token of any registry. */
export function isTokenSecret(text: string): boolean {
  const match = TOKEN_PATTERN.exec(text);
  return match !== null && checksum(match[1]!) === match[2];
}

/** Returns the hash that is stored for a secret. A secret has 256 random bits, so a fast hash suffices. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** Returns why a token cannot be used, as `the token is …`; undefined if it can. */
export function tokenProblem(
  { revokedAt, expiresAt, user, signIn: of }: TokenRecord,
  now: Date,
  settings: UserSettings,
): string | undefined {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt !== undefined && expiresAt <= now.toISOString()) return 'expired';
  if (of?.endedAt !== undefined) return 'of a sign-in that the identity provider has ended';
  switch (user && userProblem(user, now, settings)) {
    case undefined:
      return undefined;
    case 'suspended':
      return 'of a suspended user';
    case 'no provider':
      return 'of a user whose identity provider this registry no longer has';
    case 'unconfirmed': {
      // The provider is asked at each use.
      if (of !== undefined) return undefined;
      const { oidcConfirmDays = DEFAULT_CONFIRM_DAYS } = settings;
      const time = oidcConfirmDays === 0 ? 'an hour' : plural(oidcConfirmDays, 'day');
      return `of a user who did not sign in for ${time}: sign in on the pages of the registry`;
    }
  }
}

/** Returns why a user has no rights now, whatever the teams; `unconfirmed` only if the provider cannot be asked. */
export function userProblem(
  user: UserRecord,
  now: Date,
  settings: UserSettings,
): 'suspended' | 'no provider' | 'unconfirmed' | undefined {
  if (user.suspendedAt !== undefined) return 'suspended';
  // Nobody says any more who the users of a removed provider are.
  if (!hasProvider(user, settings)) return 'no provider';
  // The directory says at once who is not active any more.
  if (isManaged(user, settings) || isConfirmed(user, now, settings.oidcConfirmDays)) return undefined;
  return 'unconfirmed';
}

/** Whether the registry still has the identity provider of a user. */
export function hasProvider({ issuer }: { issuer: string }, { signIn }: UserSettings): boolean {
  return signIn === undefined || signIn.some((one) => one.issuer === issuer);
}

/**
 * Whether a directory manages a user now. It is behind the first provider: of another one, or one that was removed, no
 * directory says anything any more.
 */
export function isManaged({ directory, issuer }: UserRecord, { signIn }: UserSettings): boolean {
  return directory !== undefined && (signIn === undefined || signIn[0]?.issuer === issuer);
}

/** Whether the groups of the last sign-in still count. */
function isConfirmed(
  { confirmedAt }: UserRecord,
  now: Date,
  oidcConfirmDays = DEFAULT_CONFIRM_DAYS,
): boolean {
  const most =
    oidcConfirmDays === 0 ? SERVER_LIMITS.unconfirmedMilliseconds : oidcConfirmDays * MILLISECONDS_PER_DAY;
  return now.getTime() - Date.parse(confirmedAt) <= most;
}

/**
 * Returns a token with the groups that its user has now. The directory confirms a user for ever, and not the groups of
 * the last sign-in, of which it need not know: without another confirmation, they end as for other users.
 */
export function withCurrentGroups(token: TokenRecord, now: Date, settings: UserSettings): TokenRecord {
  const { user } = token;
  if (user === undefined) return token;
  const current =
    user.directory === undefined ? withOwnGroups(user, settings) : withConfirmedGroups(user, now, settings);
  return current === user ? token : { ...token, user: current };
}

/** Returns a user with the groups that count now: those of the last sign-in only as long as they are confirmed. */
export function withConfirmedGroups(user: UserRecord, now: Date, settings: UserSettings): UserRecord {
  const isKnown = isConfirmed(user, now, settings.oidcConfirmDays);
  return withOwnGroups(isKnown ? user : { ...user, groups: user.directory?.groups ?? [] }, settings);
}

/**
 * Returns a user with groups of no other provider, and no directory: the operator may have put another one before that of
 * the user since they were stored.
 */
export function withOwnGroups(user: UserRecord, { signIn }: UserSettings): UserRecord {
  const { directory: _, ...own } = user;
  if (signIn === undefined || signIn[0]?.issuer === own.issuer) return user;
  return { ...own, groups: groupsOfOther(own.issuer, own.groups) };
}

export interface NewToken {
  name: string;
  scopes: readonly TokenScope[];
  groups: readonly string[];
  /** Globs over repositories, for the scope `push`. */
  repositories: readonly string[];
  /** Absent: no team bounds its rights. */
  team?: string | undefined;
  /** Absent: it is not the token of a person. */
  user?: UserRecord | undefined;
  /** `login`: that user signed in to get it. */
  kind?: 'login' | undefined;
  /** The sign-in of that user in which it is made. Absent if the provider cannot be asked about it. */
  signIn?: OpenSignIn | undefined;
  /** Absent: the token does not expire. */
  expiresInDays?: number;
  /** It expires then at the latest. */
  expiresBy?: string | undefined;
}

/** Stores a new token and returns it with its secret, which cannot be shown again. */
export async function createToken(
  store: TokenStore,
  wanted: NewToken,
  context: { now: Date; by: string; origin?: RequestOrigin; decided?: DecidedThrough },
): Promise<{ token: TokenRecord; secret: string }> {
  const secret = newSecret();
  const token = newToken(wanted, secret, context);
  await store.createToken(token, hashSecret(secret), context.origin, context.decided);
  return { token, secret };
}

/** Returns a new token, which is not stored. */
export function newToken(wanted: NewToken, secret: string, context: { now: Date; by: string }): TokenRecord {
  const { expiresInDays: days, expiresBy, signIn } = wanted;
  const createdAt = context.now.toISOString();
  const end =
    days === undefined
      ? undefined
      : new Date(context.now.getTime() + days * MILLISECONDS_PER_DAY).toISOString();
  return {
    id: randomUUID(),
    name: wanted.name,
    scopes: [...new Set(wanted.scopes)],
    groups: [...new Set(wanted.groups)],
    repositories: [...new Set(wanted.repositories)],
    createdAt,
    createdBy: context.by,
    ...defined({
      team: wanted.team,
      user: wanted.user,
      kind: wanted.kind,
      // The store knows since when it is confirmed.
      signIn: signIn && { ...sealSignIn(secret, signIn), confirmedAt: createdAt },
      expiresAt: end !== undefined && expiresBy !== undefined && expiresBy < end ? expiresBy : end,
    }),
  };
}

export type AdminTokenState =
  /** A usable admin token exists. */
  | { outcome: 'present' }
  | { outcome: 'created' }
  /** No usable admin token exists, and the file does not contain one. Its text is never overwritten. */
  | { outcome: 'blocked'; reason: string };

/**
 * Ensures that the registry has a usable admin token. If not, writes a new one to `file`, readable only by its owner.
 * It does not expire, because the reader of the file owns the data. An empty file requests another token, for an
 * operator who lost the first.
 *
 * Of processes that start at the same time, one writes a token: the file is hidden until its token is stored. If a
 * start is interrupted, the next one continues with the hidden file, or deletes it.
 */
export async function ensureAdminToken(store: TokenStore, file: string, now: Date): Promise<AdminTokenState> {
  const hidden = path.join(path.dirname(file), `.${path.basename(file)}`);
  const isUsable = (token: TokenRecord) =>
    token.scopes.includes('admin') && token.user === undefined && tokenProblem(token, now, {}) === undefined;
  const interrupted = await readToken(hidden);
  if (interrupted !== undefined) {
    const stored = await store.tokenByHash(hashSecret(interrupted));
    if (stored !== undefined && isUsable(stored)) {
      await showFile(hidden, file);
      return { outcome: 'created' };
    }
    await rm(hidden);
  }
  const written = await readToken(file);
  const isRequested = written === '';
  const isEnough = (token: TokenRecord) => !isRequested && isUsable(token);
  if ((await store.tokens()).some(isEnough)) return { outcome: 'present' };
  if (written) {
    if (!isTokenSecret(written)) return { outcome: 'blocked', reason: 'does not contain a token' };
    const stored = await store.tokenByHash(hashSecret(written));
    if (stored !== undefined) {
      return {
        outcome: 'blocked',
        reason: `contains a token that is ${tokenProblem(stored, now, {}) ?? 'not an admin token'}`,
      };
    }
  }
  const secret = written || newSecret();
  if (!written) {
    await writeDurably(hidden, {
      write: (handle) => handle.writeFile(`${secret}\n`),
      mode: 0o600,
      overwrite: true,
    });
  }
  const token = newToken(FIRST_TOKEN, secret, { now, by: 'krmhub' });
  const isCreated = await store.createFirstToken(token, hashSecret(secret), isEnough);
  if (isCreated && !written) await showFile(hidden, file);
  else await rm(hidden, { force: true });
  return { outcome: isCreated ? 'created' : 'present' };
}

const FIRST_TOKEN: NewToken = {
  name: 'admin',
  scopes: TOKEN_SCOPES.filter((scope) => scope !== 'scim'),
  groups: ['*'],
  repositories: ['*'],
};

async function showFile(hidden: string, file: string): Promise<void> {
  await rename(hidden, file);
  await syncFolder(path.dirname(file));
}

/** Returns the text of a file without spaces around it; undefined if the file is missing. */
async function readToken(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
