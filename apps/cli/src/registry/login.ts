import { parseRegistryUrl } from '@krmhub/api/client';
import { DEFAULT_REGISTRY, registryUrl } from '@krmhub/consume/references/registry-url';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printWarning } from '../io/print.js';
import { readSecret } from '../io/read-secret.js';
import { readStdin } from '../io/read-stdin.js';
import { connect } from './connection.js';
import {
  checkToken,
  environmentToken,
  MAX_TOKEN_LENGTH,
  removeTokens,
  savedLogin,
  saveToken,
} from './credentials.js';
import { credentialsFile, defaultRegistry } from './credentials-file.js';
import { describeToken } from './print-tokens.js';
import { printOverrides } from './saved-logins.js';

export interface RegistryOptions {
  registry?: string;
  output: OutputFormat;
}

export interface LoginOptions extends RegistryOptions {
  /** Read the token from stdin, or from a prompt, instead of signing in on the page of the registry. */
  tokenStdin?: boolean;
  /** False to open no browser. */
  browser?: boolean;
}

export interface LogoutOptions extends RegistryOptions {
  all?: boolean;
}

/** Saves a token for a registry after the registry has accepted it, and makes the registry the default. */
export async function login(io: Io, url: string | undefined, options: LoginOptions): Promise<void> {
  const chosen = chooseRegistry('login', url, options);
  const registry = parseRegistryUrl(registryUrl(io, chosen));
  const given = await readGivenToken(io, registry, options);
  const token = given ?? (await signIn(io, registry, chosen, options));
  const client = await connect(io, chosen, { token });
  const known = await client.whoami().catch((error: unknown) => {
    throw rejectedToken(error, client.url);
  });
  const { user, teams = [], expiresAt } = known;
  const name = user?.name ?? known.name;
  await saveToken(io, registry, token, { ...defined({ id: known.id, name, expiresAt }), isDefault: true });
  const inTeams = teams.length === 0 ? 'no team' : teams.map(({ team }) => team).join(', ');
  const what = describeToken(known);
  const who =
    user === undefined ? `${name}: ${what}` : `${name} (${inTeams}): the token ${known.name} ${what}`;
  await printLine(io, escapeControls(`logged in to ${client.url} as ${who}`));
  await printLine(io, `saved the token in ${credentialsFile(io)}; commands use this registry by default`);
  await printHelper(io, registry);
  const variable = environmentToken(io);
  await printOverrides(io, { of: variable?.token.trim() === token ? undefined : registry });
  const saved = { registry: client.url, ...known, file: credentialsFile(io) };
  await printData(io, options.output, saved, async () => undefined);
}

/** Prints how other clients get the token, unless they do. */
async function printHelper(io: Io, { host }: URL): Promise<void> {
  const { asksKrmhub } = await import('./docker-credentials.js');
  // The file of docker does not matter for `login`.
  if (await asksKrmhub(io, host).catch(() => true)) return;
  await printLine(
    io,
    `for docker, podman, crane, oras, and cosign, add to ~/.docker/config.json: {"credHelpers": {"${host}": "krmhub"}}`,
  );
}

/** Removes saved tokens from this machine; the tokens stay valid. */
export async function logout(io: Io, url: string | undefined, options: LogoutOptions): Promise<void> {
  if (options.all === true) return logoutAll(io, url, options);
  const registry = parseRegistryUrl(registryUrl(io, chooseRegistry('logout', url, options)));
  const { origin } = registry;
  const wasDefault = defaultRegistry(io);
  const { id = 'ID' } = savedLogin(io, registry) ?? {};
  const isRemoved = (await removeTokens(io, [origin])).length > 0;
  await printLine(
    io,
    isRemoved
      ? `removed the token for ${origin}; to revoke it, run: krmhub token revoke ${id}`
      : `no saved token for ${origin}`,
  );
  await printDefault(io, wasDefault);
  if (environmentToken(io)?.origin === origin) {
    await printWarning(io, 'KRMHUB_TOKEN is still set, and commands use it');
  }
  const outcome = isRemoved ? 'removed' : 'unchanged';
  await printData(io, options.output, { registry: origin, outcome }, async () => undefined);
}

async function logoutAll(io: Io, url: string | undefined, options: LogoutOptions): Promise<void> {
  if (url !== undefined || options.registry !== undefined) {
    throw new KrmhubError('usage', '--all cannot be combined with a registry', {
      hint: 'Use one of them: krmhub logout --all',
    });
  }
  const wasDefault = defaultRegistry(io);
  const registries = (await removeTokens(io, 'all')).sort();
  for (const origin of registries) await printLine(io, `removed the token for ${origin}`);
  await printLine(
    io,
    registries.length === 0 ? 'no saved tokens' : 'the tokens stay valid until they expire',
  );
  await printDefault(io, wasDefault);
  if (environmentToken(io) !== undefined) {
    await printWarning(io, 'KRMHUB_TOKEN is still set, and commands use it');
  }
  const outcome = registries.length === 0 ? 'unchanged' : 'removed';
  await printData(io, options.output, { registries, outcome }, async () => undefined);
}

/** Says which registry commands use now, if the one that they used was removed. */
async function printDefault(io: Io, before: string | undefined): Promise<void> {
  if (before === undefined || defaultRegistry(io) === before) return;
  await printLine(
    io,
    `commands use ${DEFAULT_REGISTRY} by default; to choose another, run: krmhub login --use URL`,
  );
}

/** The URL argument and `--registry` mean the same; throws `usage` where they differ. */
function chooseRegistry(
  command: string,
  url: string | undefined,
  { registry }: RegistryOptions,
): string | undefined {
  if (url !== undefined && registry !== undefined && url !== registry) {
    throw new KrmhubError('usage', `the registries differ: ${url} and ${registry}`, {
      hint: `Use one of them: krmhub ${command} ${url}`,
    });
  }
  return url ?? registry;
}

/** Returns a token from stdin, else KRMHUB_TOKEN if it is for this registry; undefined if a person has to sign in. */
async function readGivenToken(
  io: Io,
  registry: URL,
  { tokenStdin = false }: LoginOptions,
): Promise<string | undefined> {
  if (io.stdin.isTTY !== true) {
    const text = new TextDecoder().decode(await readStdin(io, MAX_TOKEN_LENGTH));
    if (text.trim() !== '' || tokenStdin) return checkToken(text);
  }
  const given = tokenStdin ? undefined : environmentToken(io);
  if (given?.origin === registry.origin) return checkToken(given.token);
  if (io.stdin.isTTY === true) return undefined;
  throw new KrmhubError('usage', `cannot log in to ${registry.origin}: the token is missing`, {
    hint: `Run the command in a terminal to sign in on a page, or pass the token on stdin: krmhub login ${registry.origin} < data/admin.token`,
  });
}

/** Has the user sign in on the page of the registry, else asks for a token. */
async function signIn(
  io: Io,
  registry: URL,
  chosen: string | undefined,
  { tokenStdin = false, browser = true }: LoginOptions,
): Promise<string> {
  if (!tokenStdin) {
    const { signInOnPage } = await import('./device-login.js');
    const token = await signInOnPage(io, await connect(io, chosen), { browser });
    if (token !== undefined) return checkToken(token);
  }
  return checkToken(await readSecret(io, `Token for ${registry.origin}: `));
}

function rejectedToken(error: unknown, url: string): unknown {
  if (!(error instanceof KrmhubError) || error.code !== 'unauthorized') return error;
  return new KrmhubError('unauthorized', `${url} rejects the token: ${error.message}`, {
    hint: 'Nothing was saved. Ask the operator for a token from: krmhub token create NAME --scope publish',
    cause: error,
  });
}
