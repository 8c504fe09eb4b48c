import { readFile, stat } from 'node:fs/promises';
import { homedir, platform } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';

/** What `login` keeps: one token for each registry, bound to its origin, so that no other one ever gets it. */
interface Credentials {
  version: 1;
  tokens: Record<string, { token: string; savedAt: string }>;
}

export const MAX_TOKEN_LENGTH = 4_096;

/** `$XDG_CONFIG_HOME/krmhub` (XDG Base Directory). */
export function configurationFolder(io: Pick<Io, 'env'>): string {
  const configured = io.env.XDG_CONFIG_HOME;
  const home = io.env.HOME ?? homedir();
  // The specification has relative paths ignored.
  const base =
    configured !== undefined && path.isAbsolute(configured) ? configured : path.join(home, '.config');
  return path.join(base, 'krmhub');
}

export function credentialsFile(io: Pick<Io, 'env'>): string {
  return path.join(configurationFolder(io), 'credentials.json');
}

/** The saved token of a registry's origin. */
export async function savedToken(io: Pick<Io, 'env'>, url: URL): Promise<string | undefined> {
  const { tokens } = await readCredentials(io);
  return Object.hasOwn(tokens, url.origin) ? tokens[url.origin]!.token : undefined;
}

export async function saveToken(io: Io, url: URL, token: string): Promise<void> {
  const { tokens } = await readCredentials(io);
  await writeCredentials(io, { ...tokens, [url.origin]: { token, savedAt: io.now().toISOString() } });
}

/** Whether there was one. */
export async function removeToken(io: Io, url: URL): Promise<boolean> {
  const { tokens } = await readCredentials(io);
  if (!Object.hasOwn(tokens, url.origin)) return false;
  await writeCredentials(
    io,
    Object.fromEntries(Object.entries(tokens).filter(([origin]) => origin !== url.origin)),
  );
  return true;
}

/** What of a token's text can be one: a line without blanks. Throws `usage` for anything else. */
export function checkToken(text: string): string {
  const token = text.trim();
  if (token === '') throw new KrmhubError('usage', 'there is no token: nothing was given');
  if (token.length > MAX_TOKEN_LENGTH || !/^[\x21-\x7e]+$/.test(token)) {
    throw new KrmhubError('usage', 'what was given is not a token', {
      hint: 'Give the token alone, on one line, as `krmhub token create` printed it.',
    });
  }
  return token;
}

async function readCredentials(io: Pick<Io, 'env'>): Promise<Credentials> {
  const file = credentialsFile(io);
  let text: string;
  try {
    const status = await stat(file);
    if (platform() !== 'win32' && (status.mode & 0o077) !== 0) {
      throw new KrmhubError('unavailable', `${file} can be read by others`, {
        hint: `Run: chmod 600 ${file}`,
      });
    }
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return { version: 1, tokens: {} };
    }
    if (error instanceof KrmhubError) throw error;
    const { diskError } = await import('../files/read-file.js');
    throw diskError(error, `cannot read ${file}`);
  }
  const value = parse(text);
  if (value === undefined) {
    throw new KrmhubError('unavailable', `${file} cannot be read as krmhub's saved tokens`, {
      hint: 'Remove it, and log in again with `krmhub login`.',
    });
  }
  return value;
}

function parse(text: string): Credentials | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('version' in value) || value.version !== 1)
      return undefined;
    if (!('tokens' in value) || typeof value.tokens !== 'object' || value.tokens === null) return undefined;
    const sound = Object.values(value.tokens).every(
      (entry: unknown) =>
        typeof entry === 'object' && entry !== null && 'token' in entry && typeof entry.token === 'string',
    );
    return sound ? (value as Credentials) : undefined;
  } catch {
    return undefined;
  }
}

async function writeCredentials(io: Io, tokens: Credentials['tokens']): Promise<void> {
  const { writeFileAtomically } = await import('../files/write-file.js');
  const credentials: Credentials = { version: 1, tokens };
  await writeFileAtomically(credentialsFile(io), `${JSON.stringify(credentials, undefined, 2)}\n`, {
    overwrite: true,
    mode: 0o600,
    folderMode: 0o700,
  });
}
