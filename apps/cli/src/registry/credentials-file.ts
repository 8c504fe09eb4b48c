import { readFileSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import path from 'node:path';
import { CREDENTIALS_FILE, configurationFolder } from '@krmhub/consume/files/configuration-folder';
import { diskError } from '@krmhub/consume/files/read-file';
import type { Environment } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';

/** What `login` saved for a registry. Only the token and the time are in files of older versions. */
export interface SavedLogin {
  token: string;
  savedAt: string;
  /** URL of the registry. Default: the origin. */
  url?: string;
  /** ID of the token. */
  id?: string;
  /** Name of the user, or of the token. */
  name?: string;
  /** When the token expires. */
  expiresAt?: string;
}

/** The file of `login`. */
export interface Credentials {
  version: 1;
  /** By the origin of the registry, so that no other registry gets the token. */
  tokens: Record<string, SavedLogin>;
  /** URL of the registry that commands use. */
  defaultRegistry?: string;
}

export function credentialsFile(io: Environment): string {
  return path.join(configurationFolder(io), CREDENTIALS_FILE);
}

/** Returns the URL of the registry that `login` made the default. */
export function defaultRegistry(io: Environment): string | undefined {
  return readCredentials(io).defaultRegistry;
}

/** Reads the file, which is small. Throws `unavailable` if it is not valid, or if other users can read it. */
export function readCredentials(io: Environment): Credentials {
  const file = credentialsFile(io);
  let text: string;
  try {
    if (platform() !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
      throw new KrmhubError('unavailable', `credentials file ${file} is readable by other users`, {
        hint: `Run: chmod 600 ${file}`,
      });
    }
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return { version: 1, tokens: {} };
    }
    if (error instanceof KrmhubError) throw error;
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

/** Changes the file. Two commands that do so at once wait for each other. */
export async function changeCredentials(
  io: Environment,
  change: (credentials: Credentials) => Credentials,
): Promise<void> {
  const file = credentialsFile(io);
  const [{ withLock }, { writeFileAtomically }, { makeFolder }] = await Promise.all([
    import('@krmhub/consume/files/with-lock'),
    import('@krmhub/consume/files/write-file'),
    import('@krmhub/sources/make-folder'),
  ]);
  await makeFolder(path.dirname(file), 0o700).catch((error: unknown) => {
    throw diskError(error, `cannot create ${path.dirname(file)}`);
  });
  await withLock(file, async () => {
    const text = `${JSON.stringify(change(readCredentials(io)), undefined, 2)}\n`;
    await writeFileAtomically(file, text, { overwrite: true, mode: 0o600, folderMode: 0o700 });
  });
}

function parseCredentials(text: string): Credentials | undefined {
  try {
    const value = JSON.parse(text) as Partial<Credentials> | null;
    if (value?.version !== 1 || typeof value.tokens !== 'object' || value.tokens === null) return undefined;
    const { defaultRegistry, tokens } = value;
    if (defaultRegistry !== undefined && !isUrl(defaultRegistry)) return undefined;
    return Object.values(tokens).every(isLogin) ? (value as Credentials) : undefined;
  } catch {
    return undefined;
  }
}

function isLogin(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { token, savedAt, url, id, name, expiresAt } = entry as Partial<SavedLogin>;
  const texts: unknown[] = [savedAt, id, name, expiresAt];
  const areTexts = texts.every((text) => text === undefined || typeof text === 'string');
  return typeof token === 'string' && areTexts && (url === undefined || isUrl(url));
}

function isUrl(text: unknown): boolean {
  return typeof text === 'string' && /^https?:$/.test(parseUrl(text)?.protocol ?? '');
}
