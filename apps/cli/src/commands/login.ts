import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { LoginOptions } from '../registry/login.js';
import { withOutput, withRegistry } from './options.js';

export function registerLogin(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('login')))
    .summary('Save a token for a registry.')
    .description('Check a token with a registry, and save it.')
    .argument('[url]', 'URL of the registry, the same as --registry.')
    .addHelpText(
      'after',
      `
The command reads the token from stdin, or from KRMHUB_TOKEN if it is for this
registry. Otherwise, it prompts for the token. It does not change the registry
that other commands use: for that, set KRMHUB_REGISTRY. Only the origin of the
registry gets the token: see krmhub docs credentials. It can also be used by
docker, podman, crane, oras, and cosign: see krmhub docker-credential --help.

Examples:
  krmhub login < data/admin.token
  krmhub login https://krm.example.com`,
    )
    .action(async (url: string | undefined, options: LoginOptions) => {
      const { login } = await import('../registry/login.js');
      await login(io, url, options);
    });
}
