import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Environment, Trace } from '@krmhub/consume/ports';
import type { Credentials } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import { runHelper } from '../io/run-helper.js';

/** The parts of the credentials file of docker, oras, crane and podman that krmhub reads. */
interface DockerConfig {
  auths?: Record<string, { auth?: string; username?: string; password?: string; identitytoken?: string }>;
  credHelpers?: Record<string, string>;
  credsStore?: string;
}

/** The key of Docker Hub in the file. */
const DOCKER_HUB = 'https://index.docker.io/v1/';
/** The name of `krmhub docker-credential` in the file. */
const OWN_HELPER = 'krmhub';
/** The user name with which a helper marks an identity token. */
const TOKEN_USER = '<token>';

/** Returns the credentials for a registry, by host and port; undefined if there are none. */
export async function dockerCredentials(
  io: Environment & Trace,
  registry: string,
): Promise<Credentials | undefined> {
  const { file, config } = await readConfig(io);
  const server = registry === 'docker.io' ? DOCKER_HUB : registry;
  const helper = helperOf(config, server);
  // It is this program, which has its own tokens already.
  if (helper === OWN_HELPER) return undefined;
  if (typeof helper === 'string' && helper !== '') {
    io.trace?.(`credentials for ${registry}: docker-credential-${helper}, which ${file} names`);
    return credentialsFromHelper(io, helper, server, file);
  }
  const [, entry] =
    Object.entries(config.auths ?? {}).find(([name]) => name === server) ??
    Object.entries(config.auths ?? {}).find(([name]) => hostName(name) === server) ??
    [];
  if (entry === undefined || entry === null) return undefined;
  io.trace?.(`credentials for ${registry}: ${file}`);
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
    throw new KrmhubError('usage', `invalid credentials for ${registry} in ${file}`, {
      hint: `Log in again: docker login ${registry}`,
    });
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1).replace(/\0+$/, '') };
}

/** Reports whether docker asks krmhub for the credentials of a registry. */
export async function asksKrmhub(io: Environment, registry: string): Promise<boolean> {
  return helperOf((await readConfig(io)).config, registry) === OWN_HELPER;
}

function helperOf({ credHelpers, credsStore }: DockerConfig, server: string): string | undefined {
  return ownProperty(credHelpers, server) ?? credsStore;
}

async function readConfig(io: Environment): Promise<{ file: string; config: DockerConfig }> {
  const folder = io.env.DOCKER_CONFIG;
  const file = path.join(
    folder === undefined || folder === '' ? path.join(io.env.HOME ?? homedir(), '.docker') : folder,
    'config.json',
  );
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    // Without credentials, the file and its folder can be missing.
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code)))
      return { file, config: {} };
    const { diskError } = await import('@krmhub/consume/files/read-file');
    throw diskError(error, `cannot read ${file}`);
  }
  try {
    const config: unknown = JSON.parse(text);
    if (typeof config === 'object' && config !== null && !Array.isArray(config)) return { file, config };
  } catch {
    // The text can contain a secret, so the error does not quote it.
  }
  throw new KrmhubError('usage', `cannot read credentials from ${file}: it is not JSON`, {
    hint: 'Fix the file, or set DOCKER_CONFIG to another folder.',
  });
}

/** Runs the credential helper `docker-credential-NAME` (docker-credential-helpers). */
async function credentialsFromHelper(
  io: Environment,
  name: string,
  server: string,
  file: string,
): Promise<Credentials | undefined> {
  const program = `docker-credential-${name}`;
  const failed = (why: string) =>
    new KrmhubError('unauthorized', `credential helper ${printable(program)} of ${file} failed: ${why}`, {
      hint: `Install the helper, or remove it from ${file}.`,
    });
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) throw failed('its name is not valid');
  const result = await runHelper(io, program, ['get'], server);
  if ('problem' in result) throw failed(result.problem);
  const { code, output } = result;
  if (code !== 0) {
    // All helpers print this text.
    if (/credentials not found/i.test(output)) return undefined;
    throw failed(`exit code ${code}: ${printable(output.trim())}`);
  }
  try {
    const { Username: username, Secret: secret } = JSON.parse(output) as Record<string, unknown>;
    if (typeof username === 'string' && typeof secret === 'string') {
      return username === TOKEN_USER ? { identityToken: secret } : { username, password: secret };
    }
  } catch {
    // The text can contain a secret, so the error does not quote it.
  }
  throw failed('it returned no user name or no secret');
}

/** Returns the host of a key. Older versions of Docker wrote URLs. */
function hostName(name: string): string {
  return name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
}

function ownProperty(record: Record<string, string> | undefined, name: string): string | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
