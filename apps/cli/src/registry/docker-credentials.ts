import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Credentials } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import type { Io } from '../io/io.js';

/** What is read of the file that `docker login`, `oras login`, `crane auth login` and podman keep. */
interface DockerConfig {
  auths?: Record<string, { auth?: string; username?: string; password?: string; identitytoken?: string }>;
  credHelpers?: Record<string, string>;
  credsStore?: string;
}

/** Milliseconds for which a program that keeps credentials may take; it may ask its user something. */
const HELPER_MILLISECONDS = 60_000;
const MAX_ANSWER_LENGTH = 65_536;
/** Under which name Docker's own registry stands in the file. */
const DOCKER_HUB = 'https://index.docker.io/v1/';
/** A helper says by this name that the secret is an identity token. */
const TOKEN_USER = '<token>';

/** The credentials for a registry, by host and port; undefined where none are kept. */
export async function dockerCredentials(
  io: Pick<Io, 'env'>,
  registry: string,
): Promise<Credentials | undefined> {
  const { file, config } = await readConfig(io);
  const server = registry === 'docker.io' ? DOCKER_HUB : registry;
  const helper = own(config.credHelpers, server) ?? config.credsStore;
  if (typeof helper === 'string' && helper !== '') return fromHelper(io, helper, server, file);
  const [, entry] =
    Object.entries(config.auths ?? {}).find(([name]) => name === server) ??
    Object.entries(config.auths ?? {}).find(([name]) => hostOf(name) === server) ??
    [];
  if (entry === undefined || entry === null) return undefined;
  if (typeof entry.identitytoken === 'string' && entry.identitytoken !== '') {
    return { identityToken: entry.identitytoken };
  }
  const { auth, username, password } = entry;
  if (typeof auth !== 'string' || auth === '') {
    return typeof username === 'string' && typeof password === 'string' ? { username, password } : undefined;
  }
  const text = Buffer.from(auth, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon <= 0) {
    throw new KrmhubError('usage', `${file} has no name and password for ${registry} that can be read`, {
      hint: `Log in again, with \`docker login ${registry}\`.`,
    });
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1).replace(/\0+$/, '') };
}

async function readConfig(io: Pick<Io, 'env'>): Promise<{ file: string; config: DockerConfig }> {
  const folder = io.env.DOCKER_CONFIG;
  const file = path.join(
    folder === undefined || folder === '' ? path.join(io.env.HOME ?? homedir(), '.docker') : folder,
    'config.json',
  );
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    // Whoever keeps no credentials has no file, and may have no folder.
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code)))
      return { file, config: {} };
    const { diskError } = await import('../files/read-file.js');
    throw diskError(error, `cannot read ${file}`);
  }
  try {
    const config: unknown = JSON.parse(text);
    if (typeof config === 'object' && config !== null && !Array.isArray(config)) return { file, config };
  } catch {
    // Its text may be a secret, so that nothing of it is shown.
  }
  throw new KrmhubError('usage', `${file} is not JSON, so the credentials in it cannot be read`, {
    hint: 'Mend it, or name another folder in DOCKER_CONFIG.',
  });
}

/** Asks the program `docker-credential-NAME` (docker-credential-helpers). */
async function fromHelper(
  io: Pick<Io, 'env'>,
  name: string,
  server: string,
  file: string,
): Promise<Credentials | undefined> {
  const program = `docker-credential-${name}`;
  const failed = (why: string) =>
    new KrmhubError('unauthorized', `${printable(program)}, which ${file} names for credentials, ${why}`, {
      hint: 'Install it, or take its name out of that file.',
    });
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) throw failed('has no name of a program');
  const { code, output } = await run(io, program, server).catch((error: NodeJS.ErrnoException) => {
    const silent =
      error.name === 'AbortError' && `does not answer within ${HELPER_MILLISECONDS / 1_000} seconds`;
    throw failed(error.code === 'ENOENT' ? 'is not installed' : silent || printable(error.message));
  });
  if (code !== 0) {
    // The word that all helpers have for it.
    if (/credentials not found/i.test(output)) return undefined;
    throw failed(`ended with ${code}: ${printable(output.trim())}`);
  }
  try {
    const { Username: username, Secret: secret } = JSON.parse(output) as Record<string, unknown>;
    if (typeof username === 'string' && typeof secret === 'string') {
      return username === TOKEN_USER ? { identityToken: secret } : { username, password: secret };
    }
  } catch {
    // Its text may be a secret, so that nothing of it is shown.
  }
  throw failed('gave no name and secret');
}

function run(
  io: Pick<Io, 'env'>,
  program: string,
  input: string,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['get'], {
      env: io.env,
      stdio: ['pipe', 'pipe', 'inherit'],
      // The option `timeout` would keep this program alive where the other one cannot be started.
      signal: AbortSignal.timeout(HELPER_MILLISECONDS),
    });
    let output = '';
    child.on('error', reject);
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < MAX_ANSWER_LENGTH) output += text;
    });
    child.on('close', (code) => resolve({ code, output }));
    child.stdin.end(input);
  });
}

/** Names may be web addresses, as older versions of Docker wrote them. */
function hostOf(name: string): string {
  return name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
}

function own(record: Record<string, string> | undefined, name: string): string | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
