import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { LoginOptions } from '../registry/login.js';
import { withOutput, withRegistry } from './options.js';

interface Options extends LoginOptions {
  list?: boolean;
  use?: string;
}

export function registerLogin(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('login')))
    .summary('Sign in to a registry, and make it the default.')
    .description(
      'Sign in to a registry, save a token for it, and make it the one that commands use by default.',
    )
    .argument('[url]', 'URL of the registry, the same as --registry.')
    .option('--token-stdin', 'Use a token from stdin, or from a prompt.')
    .option('--no-browser', 'Print the page to open, and open no browser.')
    .option('--list', 'List the registries with a saved token.')
    .option('--use <url>', 'Make this registry with a saved token the default.')
    .addHelpText(
      'after',
      `
The command uses a token from stdin, or KRMHUB_TOKEN if it is for this registry.
Otherwise, you sign in on a page of the registry, on this machine or another
one, and allow the command to get a token there. If the registry has no sign-in
for users, it prompts for a token. Only the origin of the registry gets the
token: see krmhub docs credentials. It can also be used by docker, podman,
crane, oras, and cosign: see krmhub docker-credential --help.

You can be signed in to several registries. --registry and KRMHUB_REGISTRY take
precedence over the default registry, and KRMHUB_TOKEN over the saved token.

Examples:
  krmhub login < data/admin.token
  krmhub login https://krm.example.com
  krmhub login --list
  krmhub login --use https://krm.example.com`,
    )
    .action(async (url: string | undefined, options: Options) => {
      const { list = false, use, ...others } = options;
      const { KrmhubError } = await import('@krmhub/schema/error');
      const named = [url, others.registry, use].filter((one) => one !== undefined).length;
      if ((list && named > 0) || (use !== undefined && named > 1)) {
        throw new KrmhubError('usage', '--list and --use cannot be combined with a registry to log in to', {
          hint: 'Use one of them: krmhub login --list',
        });
      }
      if (list || use !== undefined) {
        const { listLogins, useRegistry } = await import('../registry/saved-logins.js');
        return use === undefined ? listLogins(io, options.output) : useRegistry(io, use, options.output);
      }
      const { login } = await import('../registry/login.js');
      await login(io, url, others);
    });
}
