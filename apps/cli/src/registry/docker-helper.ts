import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { TOKEN_USER } from '@krmhub/sources/actor';
import { FINDINGS } from '../io/exit-code.js';
import { type Io, write, writeVisible } from '../io/io.js';
import { readStdin } from '../io/read-stdin.js';
import { checkToken, environmentToken, removeTokens, savedOrigins, saveToken } from './credentials.js';
import { findToken } from './find-credentials.js';
import { allowsPlainHttp } from './plain-http.js';

/** The actions of the protocol of credential helpers (docker-credential-helpers). */
export type HelperAction = 'get' | 'list' | 'store' | 'erase';

/** Of what docker writes to stdin: the name of a registry, or JSON with a secret. */
const MAX_INPUT_LENGTH = 65_536;
/** Clients compare this text. */
const NOT_FOUND = 'credentials not found in native keychain';

/** Answers one request of docker or another client. It reads an error from stdout. */
export async function runDockerHelper(io: Io, action: HelperAction): Promise<void> {
  try {
    await writeVisible(io.stdout, await answer(io, action));
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    const { message, hint } = error;
    await write(io.stdout, `${message}${hint === undefined ? '' : ` (${hint})`}\n`);
    // As every helper; clients look no further.
    io.exitCode = FINDINGS;
  }
}

async function answer(io: Io, action: HelperAction): Promise<string> {
  if (action === 'list') return JSON.stringify(listRegistries(io, savedOrigins(io)));
  const input = new TextDecoder().decode(await readStdin(io, MAX_INPUT_LENGTH)).trim();
  if (action === 'get') return getToken(io, input);
  if (action === 'erase') {
    const origins = originsOf(io, input).map(({ origin }) => origin);
    await removeTokens(io, origins);
    return '';
  }
  const { server, secret } = readCredentials(input);
  const [origin] = originsOf(io, server);
  if (origin === undefined || !/^krmhub_/.test(secret)) {
    throw new KrmhubError('usage', 'docker-credential-krmhub stores only tokens of krmhub registries', {
      hint: 'Use another credential helper for this registry.',
    });
  }
  await saveToken(io, origin, checkToken(secret));
  return '';
}

async function getToken(io: Io, server: string): Promise<string> {
  for (const origin of originsOf(io, server)) {
    const token = await findToken(io, origin);
    if (token !== undefined)
      return JSON.stringify({ ServerURL: server, Username: TOKEN_USER, Secret: token });
  }
  throw new KrmhubError('not-found', NOT_FOUND);
}

/** Registries by host and port, as clients look for them. */
function listRegistries(io: Io, saved: readonly string[]): Record<string, string> {
  const { origin } = environmentToken(io) ?? {};
  const hosts = [...saved, ...(origin === undefined ? [] : [origin])].flatMap(
    (one) => parseUrl(one)?.host ?? [],
  );
  return Object.fromEntries([...new Set(hosts)].sort().map((host) => [host, TOKEN_USER]));
}

/** The origins that a client can mean. Most write only a host; without TLS, they mean hosts that may have none. */
function originsOf(io: Io, server: string): URL[] {
  const named = /^https?:\/\//i.test(server) ? parseUrl(server) : undefined;
  if (named !== undefined) return [named];
  const secure = parseUrl(`https://${server}`);
  const plain = parseUrl(`http://${server}`);
  if (secure === undefined || plain === undefined) return [];
  return allowsPlainHttp(io, plain.host) ? [plain, secure] : [secure];
}

function readCredentials(input: string): { server: string; secret: string } {
  try {
    const { ServerURL: server, Secret: secret } = JSON.parse(input) as Record<string, unknown>;
    if (typeof server === 'string' && typeof secret === 'string') return { server, secret };
  } catch {
    // The text has a secret, so the error does not quote it.
  }
  throw new KrmhubError('usage', 'the input is not JSON with a ServerURL and a Secret');
}
