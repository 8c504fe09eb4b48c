import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { say, warn } from '../io/print.js';
import { connect, registryUrl } from '../registry/connection.js';
import { withRegistry } from './options.js';

export function registerLogin(program: Command, io: Io): void {
  withRegistry(program.command('login'))
    .description('Save a token for a registry, after asking the registry whether it is good.')
    .argument('[url]', 'Registry to log in to; the same as --registry.')
    .addHelpText(
      'after',
      `
The token is read from stdin, else from KRMHUB_TOKEN, else asked for.

Examples:
  krmhub login < data/admin.token
  krmhub login https://krm.example.com`,
    )
    .action(async (url: string | undefined, options: { registry?: string }) => {
      const place = chosenRegistry(url, options.registry);
      const { parseRegistryUrl } = await import('@krmhub/api/client');
      const registry = parseRegistryUrl(registryUrl(io, place));
      const { credentialsFile, saveToken } = await import('../registry/credentials.js');
      const token = await givenToken(io, registry);
      const client = await connect(io, place, { token });
      const known = await client.whoami().catch((error: unknown) => {
        throw refused(error, client.url);
      });
      await saveToken(io, registry, token);
      const { describeToken } = await import('./token/describe.js');
      const { visible } = await import('../io/text.js');
      await say(io, visible(`Logged in to ${client.url} as ${known.name}: ${describeToken(known)}.`));
      await say(io, `The token is saved in ${credentialsFile(io)}.`);
      const set = io.env.KRMHUB_TOKEN;
      if (set !== undefined && set !== '' && set.trim() !== token) {
        await warn(io, 'KRMHUB_TOKEN holds another token, and is used as long as it is set');
      }
    });
}

/** `URL` and `--registry` say the same thing; throws `usage` where they do not. */
export function chosenRegistry(url: string | undefined, option: string | undefined): string | undefined {
  if (url !== undefined && option !== undefined && url !== option) {
    throw new KrmhubError('usage', `two registries are named: ${url} and ${option}`, { hint: 'Name one.' });
  }
  return url ?? option;
}

async function givenToken(io: Io, registry: URL): Promise<string> {
  const { checkToken, MAX_TOKEN_LENGTH } = await import('../registry/credentials.js');
  if (io.stdin.isTTY !== true) {
    const { readStdin } = await import('../files/source-files.js');
    const text = new TextDecoder().decode(await readStdin(io, MAX_TOKEN_LENGTH));
    if (text.trim() !== '') return checkToken(text);
  }
  const configured = io.env.KRMHUB_TOKEN;
  if (configured !== undefined && configured !== '') return checkToken(configured);
  if (io.stdin.isTTY !== true) {
    throw new KrmhubError('usage', 'there is no token to log in with', {
      hint: 'Give it on stdin, as in `krmhub login < data/admin.token`, or in KRMHUB_TOKEN.',
    });
  }
  const { readSecret } = await import('../io/read-secret.js');
  return checkToken(await readSecret(io, `Token for ${registry.origin}: `));
}

function refused(error: unknown, url: string): unknown {
  if (!(error instanceof KrmhubError) || error.code !== 'unauthorized') return error;
  return new KrmhubError('unauthorized', `${url} does not take the token: ${error.message}`, {
    hint: 'Nothing was saved. Who runs the registry makes a token with `krmhub token create`.',
    cause: error,
  });
}
