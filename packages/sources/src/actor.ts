import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { SourceCredentials } from './context.js';

/** Takes milliseconds: a password can be guessed from a hash that is faster. */
const COST = { N: 16_384, r: 8, p: 1 };
const KEY_BYTES = 32;

/** Names who asks an origin, by the credentials, which cannot be found from the name. */
export async function actorName(origin: string, credentials: SourceCredentials): Promise<string> {
  const secret = JSON.stringify(
    'token' in credentials ? [credentials.token] : [credentials.username, credentials.password],
  );
  const derive = promisify<string, string, number, typeof COST, Buffer>(scrypt);
  return (await derive(secret, `krmhub ${origin}`, KEY_BYTES, COST)).toString('hex');
}
