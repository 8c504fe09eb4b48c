import { parseRegistryUrl } from '@krmhub/api/client';
import { isFirstToken } from '@krmhub/api/token-scopes';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printWarning } from '../io/print.js';
import { readSecret } from '../io/read-secret.js';
import { readStdin } from '../io/read-stdin.js';
import { connect } from './connection.js';
import {
  checkToken,
  credentialsFile,
  environmentToken,
  MAX_TOKEN_LENGTH,
  removeToken,
  saveToken,
} from './credentials.js';
import { describeToken, printTokens } from './print-tokens.js';

export interface LoginOptions {
  registry?: string;
  output: OutputFormat;
}

/** Saves a token for a registry after the registry has accepted it. */
export async function login(io: Io, url: string | undefined, options: LoginOptions): Promise<void> {
  const chosen = chooseRegistry('login', url, options);
  const registry = parseRegistryUrl(registryUrl(io, chosen));
  const token = await readToken(io, registry);
  const client = await connect(io, chosen, { token });
  const known = await client.whoami().catch((error: unknown) => {
    throw rejectedToken(error, client.url);
  });
  await saveToken(io, registry, token);
  await printLine(io, escapeControls(`logged in to ${client.url} as ${known.name}: ${describeToken(known)}`));
  await printLine(io, `saved the token in ${credentialsFile(io)}`);
  await printDefault(io, registry, client.url);
  await printHelper(io, registry);
  const given = environmentToken(io);
  if (given?.origin === registry.origin && given.token.trim() !== token) {
    await printWarning(io, 'KRMHUB_TOKEN contains a different token and overrides the saved token');
  }
  const saved = { registry: client.url, ...known, file: credentialsFile(io) };
  await printData(io, options.output, saved, async () => undefined);
}

/** Says how to use a registry that is not the default, because `login` does not change the default. */
async function printDefault(io: Io, registry: URL, url: string): Promise<void> {
  const current = registryUrl(io, undefined);
  if (parseUrl(current)?.origin === registry.origin) return;
  await printLine(
    io,
    escapeControls(
      `without --registry, commands still use ${current}; to change that, run: export KRMHUB_REGISTRY=${url}`,
    ),
  );
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

/** Removes the saved token of a registry from this machine; the token stays valid. */
export async function logout(io: Io, url: string | undefined, options: LoginOptions): Promise<void> {
  const registry = parseRegistryUrl(registryUrl(io, chooseRegistry('logout', url, options)));
  const removed = await removeToken(io, registry);
  await printLine(
    io,
    removed
      ? `removed the token for ${registry.origin}; to revoke it, run: krmhub token revoke ID`
      : `no saved token for ${registry.origin}`,
  );
  if (environmentToken(io)?.origin === registry.origin) {
    await printWarning(io, 'KRMHUB_TOKEN is still set, and commands use it');
  }
  const outcome = removed ? 'removed' : 'unchanged';
  await printData(io, options.output, { registry: registry.origin, outcome }, async () => undefined);
}

/** Prints the token that commands use, and what it can do. */
export async function printIdentity(io: Io, options: LoginOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const token = await client.whoami();
  await printData(io, options.output, { registry: client.url, ...token }, () => printTokens(io, [token]));
  if (options.output !== 'table') return;
  if (io.stderr.isTTY === true) await printLine(io, `registry: ${client.url}`);
  const { team, teamRights } = token;
  if (teamRights !== undefined) {
    const { owns, grants } = teamRights;
    const groups = owns.length === 0 ? 'no group' : owns.join(', ');
    await printLine(io, escapeControls(`team ${team} owns ${groups}`));
    for (const { may, in: where } of grants) {
      const [of, pattern] = Object.entries(where)[0] ?? ['', ''];
      await printLine(io, escapeControls(`team ${team} may ${may.join(', ')} in ${of} ${pattern}`));
    }
  }
  if (isFirstToken(token)) {
    await printLine(
      io,
      [
        'this is the first administrator token, which nobody in particular owns. Replace it by one with your name:',
        '  krmhub token create NAME --scope admin > NAME.token',
        '  krmhub login < NAME.token',
        `  krmhub token revoke ${token.id}`,
      ].join('\n'),
    );
  }
}

/** The URL argument and `--registry` mean the same; throws `usage` where they differ. */
function chooseRegistry(
  command: string,
  url: string | undefined,
  { registry }: { registry?: string },
): string | undefined {
  if (url !== undefined && registry !== undefined && url !== registry) {
    throw new KrmhubError('usage', `the registries differ: ${url} and ${registry}`, {
      hint: `Use one of them: krmhub ${command} ${url}`,
    });
  }
  return url ?? registry;
}

/** Reads a token from stdin, else from KRMHUB_TOKEN if it is for this registry, else from the terminal. */
async function readToken(io: Io, registry: URL): Promise<string> {
  if (io.stdin.isTTY !== true) {
    const text = new TextDecoder().decode(await readStdin(io, MAX_TOKEN_LENGTH));
    if (text.trim() !== '') return checkToken(text);
  }
  const given = environmentToken(io);
  if (given?.origin === registry.origin) return checkToken(given.token);
  if (io.stdin.isTTY !== true) {
    throw new KrmhubError('usage', `cannot log in to ${registry.origin}: the token is missing`, {
      hint: `Pass the token on stdin, for example: krmhub login ${registry.origin} < data/admin.token`,
    });
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
