import { readFile, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { configurationFolder } from '@krmhub/consume/files/configuration-folder';
import type { Environment, Trace } from '@krmhub/consume/ports';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { Io } from '../io/io.js';

/** The tokens that `login` saved, by the origin of the registry, so that no other registry gets them. */
interface Credentials {
  version: 1;
  tokens: Record<string, { token: string; savedAt: string }>;
}

export const MAX_TOKEN_LENGTH = 4_096;

export function credentialsFile(io: Environment): string {
  return path.join(configurationFolder(io), 'credentials.json');
}

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
  const token = isGiven ? checkToken(given.token) : await savedToken(io, url);
  const where = isGiven ? 'KRMHUB_TOKEN' : token === undefined ? 'none' : credentialsFile(io);
  io.trace?.(`credentials for ${url.origin}: ${where}`);
  return token;
}

/** Returns KRMHUB_TOKEN with the origin that it belongs to, which is undefined for an invalid KRMHUB_REGISTRY. */
export function environmentToken(io: Environment): { token: string; origin: string | undefined } | undefined {
  const { KRMHUB_TOKEN: token = '' } = io.env;
  return token === '' ? undefined : { token, origin: parseUrl(registryUrl(io, undefined))?.origin };
}

/** Returns the saved token of a registry. */
export async function savedToken(io: Environment, url: URL): Promise<string | undefined> {
  const { tokens } = await readCredentials(io);
  return Object.hasOwn(tokens, url.origin) ? tokens[url.origin]!.token : undefined;
}

/** Returns the origins of the registries with a saved token. */
export async function savedOrigins(io: Environment): Promise<string[]> {
  return Object.keys((await readCredentials(io)).tokens);
}

export async function saveToken(io: Io, url: URL, token: string): Promise<void> {
  const { tokens } = await readCredentials(io);
  await writeCredentials(io, { ...tokens, [url.origin]: { token, savedAt: io.now().toISOString() } });
}

/** Removes the saved token of a registry. Reports whether there was one. */
export async function removeToken(io: Io, url: URL): Promise<boolean> {
  const { tokens } = await readCredentials(io);
  if (!Object.hasOwn(tokens, url.origin)) return false;
  await writeCredentials(
    io,
    Object.fromEntries(Object.entries(tokens).filter(([origin]) => origin !== url.origin)),
  );
  return true;
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

async function readCredentials(io: Environment): Promise<Credentials> {
  const file = credentialsFile(io);
  let text: string;
  try {
    const status = await stat(file);
    if (platform() !== 'win32' && (status.mode & 0o077) !== 0) {
      throw new KrmhubError('unavailable', `credentials file ${file} is readable by other users`, {
        hint: `Run: chmod 600 ${file}`,
      });
    }
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return { version: 1, tokens: {} };
    }
    if (error instanceof KrmhubError) throw error;
    const { diskError } = await import('@krmhub/consume/files/read-file');
    throw diskError(error, `cannot read ${file}`);
  }
  const value = parseCredentials(text);
  if (value === undefined) {
    throw new KrmhubError('unavailable', `credentials file ${file} is not valid`, {
      hint: `Remove it (rm ${file}), then log in again: krmhub login`,
    });
  }
  return value;
}

function parseCredentials(text: string): Credentials | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('version' in value) || value.version !== 1)
      return undefined;
    if (!('tokens' in value) || typeof value.tokens !== 'object' || value.tokens === null) return undefined;
    const isValid = Object.values(value.tokens).every(
      (entry: unknown) =>
        typeof entry === 'object' && entry !== null && 'token' in entry && typeof entry.token === 'string',
    );
    return isValid ? (value as Credentials) : undefined;
  } catch {
    return undefined;
  }
}

async function writeCredentials(io: Io, tokens: Credentials['tokens']): Promise<void> {
  const { writeFileAtomically } = await import('@krmhub/consume/files/write-file');
  const credentials: Credentials = { version: 1, tokens };
  await writeFileAtomically(credentialsFile(io), `${JSON.stringify(credentials, undefined, 2)}\n`, {
    overwrite: true,
    mode: 0o600,
    folderMode: 0o700,
  });
}
