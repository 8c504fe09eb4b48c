import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { SourceCredentials } from './context.js';

/** The user name with which a token of a krmhub registry is sent as a password. Registries accept any. */
export const TOKEN_USER = 'krmhub';

/** Takes milliseconds: a password can be guessed from a hash that is faster. */
const COST = { N: 16_384, r: 8, p: 1 };
const KEY_BYTES = 32;

/**
 * Names who asks a server, by the credentials, which cannot be found from the name. A token has one name, whether it is
 * sent as such or as a password.
 */
export async function actorName(server: string, credentials: SourceCredentials): Promise<string> {
  const derive = promisify<string, string, number, typeof COST, Buffer>(scrypt);
  const secret = JSON.stringify(secretParts(credentials));
  return (await derive(secret, `krmhub ${server}`, KEY_BYTES, COST)).toString('hex');
}

function secretParts(credentials: SourceCredentials): string[] {
  if ('token' in credentials) return [credentials.token];
  const { username, password } = credentials;
  return username === TOKEN_USER ? [password] : [username, password];
}
