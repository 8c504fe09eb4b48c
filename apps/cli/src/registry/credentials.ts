import type { Environment, Trace } from '@krmhub/consume/ports';
import { configuredRegistry, DEFAULT_REGISTRY } from '@krmhub/consume/references/registry-url';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { Io } from '../io/io.js';
import { changeCredentials, credentialsFile, readCredentials, type SavedLogin } from './credentials-file.js';

export const MAX_TOKEN_LENGTH = 4_096;

/** Tokens of this run by origin, in memory only. Copies of an Io share its environment. */
const ofThisRun = new WeakMap<Environment['env'], Map<string, string>>();

/** Uses a token for a registry until this process ends, before all others. */
export function useToken({ env }: Environment, { origin }: URL, token: string): void {
  const tokens = ofThisRun.get(env) ?? new Map<string, string>();
  ofThisRun.set(env, tokens.set(origin, token));
}

/**
 * Returns the token for a registry: that of this run, KRMHUB_TOKEN, which belongs to the origin of KRMHUB_REGISTRY or the default, else
 * the one of `login`. Undefined if there is none.
 */
export async function tokenFor(io: Environment & Trace, url: URL): Promise<string | undefined> {
  const own = ofThisRun.get(io.env)?.get(url.origin);
  if (own !== undefined) return own;
  const given = environmentToken(io);
  const isGiven = given?.origin === url.origin;
  const token = isGiven ? checkToken(given.token) : savedLogin(io, url)?.token;
  const where = isGiven ? 'KRMHUB_TOKEN' : token === undefined ? 'none' : credentialsFile(io);
  io.trace?.(`credentials for ${url.origin}: ${where}`);
  return token;
}

/**
 * Returns KRMHUB_TOKEN with the origin that it belongs to: that of KRMHUB_REGISTRY, else http://localhost:8080, so that no
 * `login` changes which registry gets it. The origin is undefined for an invalid KRMHUB_REGISTRY.
 */
export function environmentToken(io: Environment): { token: string; origin: string | undefined } | undefined {
  const { KRMHUB_TOKEN: token = '' } = io.env;
  if (token === '') return undefined;
  return { token, origin: parseUrl(configuredRegistry(io) ?? DEFAULT_REGISTRY)?.origin };
}

/** Returns what `login` saved for a registry. */
export function savedLogin(io: Environment, url: URL): SavedLogin | undefined {
  const { tokens } = readCredentials(io);
  return Object.hasOwn(tokens, url.origin) ? tokens[url.origin] : undefined;
}

/** Returns the origins of the registries with a saved token. */
export function savedOrigins(io: Environment): string[] {
  return Object.keys(readCredentials(io).tokens);
}

/** Saves a token with what is known of it. `isDefault` makes its registry the one that commands use. */
export async function saveToken(
  io: Io,
  url: URL,
  token: string,
  known: Pick<SavedLogin, 'id' | 'name' | 'expiresAt'> & { isDefault?: boolean } = {},
): Promise<void> {
  const { id, name, expiresAt, isDefault = false } = known;
  const address = withoutSlash(url);
  const login = { token, savedAt: io.now().toISOString(), url: address, ...defined({ id, name, expiresAt }) };
  await changeCredentials(io, ({ tokens, ...others }) => ({
    ...others,
    tokens: { ...tokens, [url.origin]: login },
    ...defined({ defaultRegistry: isDefault ? address : others.defaultRegistry }),
  }));
}

/** Makes a registry with a saved token the one that commands use. Reports whether there is such a token. */
export async function chooseDefault(io: Io, url: URL): Promise<boolean> {
  let isSaved = false;
  await changeCredentials(io, (credentials) => {
    isSaved = Object.hasOwn(credentials.tokens, url.origin);
    return isSaved ? { ...credentials, defaultRegistry: withoutSlash(url) } : credentials;
  });
  return isSaved;
}

/** Removes the saved tokens of some registries, which stop being the default. Returns the origins that had one. */
export async function removeTokens(io: Io, origins: readonly string[] | 'all'): Promise<string[]> {
  const isMeant = (origin: string) => origins === 'all' || origins.includes(origin);
  let removed: string[] = [];
  if (!savedOrigins(io).some(isMeant)) return removed;
  await changeCredentials(io, ({ tokens, defaultRegistry, ...others }) => {
    removed = Object.keys(tokens).filter(isMeant);
    const isLeft = defaultRegistry !== undefined && !removed.includes(new URL(defaultRegistry).origin);
    return {
      ...others,
      tokens: Object.fromEntries(Object.entries(tokens).filter(([origin]) => !isMeant(origin))),
      ...defined({ defaultRegistry: isLeft ? defaultRegistry : undefined }),
    };
  });
  return removed;
}

/** Returns a URL as messages write it. */
export function withoutSlash({ href }: URL): string {
  return href.replace(/\/+$/, '');
}

/** Returns the token in a text of one line. Throws `usage` for anything else. */
export function checkToken(text: string): string {
  const token = text.trim();
  if (token === '') {
    throw new KrmhubError('usage', 'cannot read the token: the input is empty', {
      hint: 'Pass the token on stdin, for example: krmhub login < data/admin.token',
    });
  }
  if (token.length > MAX_TOKEN_LENGTH || !/^[\x21-\x7e]+$/.test(token)) {
    throw new KrmhubError('usage', 'cannot read the token: the input is not a token', {
      hint: 'Pass only the token from `krmhub token create`, on one line.',
    });
  }
  return token;
}
