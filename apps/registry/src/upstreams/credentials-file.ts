import { open } from 'node:fs/promises';
import { KrmhubError } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { SourceCredentials } from '@krmhub/sources';

/** Largest size of the file. */
const MAX_BYTES = 1_048_576;

/**
 * Reads credentials by origin. Rejects with `usage` if the file is missing, is invalid, or can be read by other
 * accounts. Messages do not repeat its content.
 */
export async function readCredentialsFile(file: string): Promise<Map<string, SourceCredentials>> {
  const text = await readPrivately(file);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message repeats the content.
    throw refused(file, 'it is not valid JSON');
  }
  if (!isMapping(json)) throw refused(file, 'expected an object with origins as keys');
  const credentials = new Map<string, SourceCredentials>();
  for (const [origin, value] of Object.entries(json)) {
    if (!isOrigin(origin)) {
      throw refused(file, `${JSON.stringify(origin.slice(0, 200))} is not an origin such as https://host`);
    }
    const read = readCredentials(value);
    if (read === undefined) {
      throw refused(
        file,
        `${origin}: expected either a token, or a username and a password, and tokenServices as a list of origins`,
      );
    }
    credentials.set(origin, read);
  }
  return credentials;
}

async function readPrivately(file: string): Promise<string> {
  let handle: Awaited<ReturnType<typeof open>> | undefined;
  try {
    handle = await open(file, 'r');
    const { mode, size } = await handle.stat();
    if ((mode & 0o077) !== 0)
      throw refused(
        file,
        'other accounts can read or write it',
        'Allow access only for the owner with `chmod 600`.',
      );
    if (size > MAX_BYTES) throw refused(file, `it exceeds ${MAX_BYTES} bytes`);
    return await handle.readFile('utf8');
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    throw refused(file, `cannot read it: ${(cause as NodeJS.ErrnoException).code}`);
  } finally {
    await handle?.close();
  }
}

function readCredentials(value: unknown): SourceCredentials | undefined {
  if (!isMapping(value)) return undefined;
  const { token, username, password, tokenServices, ...others } = value;
  if (Object.keys(others).length > 0) return undefined;
  if (tokenServices !== undefined && !isListOfOrigins(tokenServices)) return undefined;
  const services = tokenServices === undefined ? {} : { tokenServices };
  if (isText(token) && username === undefined && password === undefined) return { token, ...services };
  if (isText(username) && isText(password) && token === undefined) return { username, password, ...services };
  return undefined;
}

function isListOfOrigins(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => isText(one) && isOrigin(one));
}

function isOrigin(text: string): boolean {
  return parseUrl(text)?.origin === text;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(
  file: string,
  why: string,
  hint = 'KRMHUB_SOURCE_CREDENTIALS sets the path of this file.',
): KrmhubError {
  return new KrmhubError('usage', `cannot use the source credentials in ${file}: ${why}`, { hint });
}
