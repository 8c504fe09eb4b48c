import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { LogoutOptions } from '../registry/login.js';
import { withOutput, withRegistry } from './options.js';

export function registerLogout(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('logout')))
    .summary('Remove a saved token.')
    .description('Remove the saved token of a registry. The token itself stays valid.')
    .argument('[url]', 'URL of the registry, the same as --registry.')
    .option('--all', 'Remove the saved tokens of all registries.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub logout
  krmhub logout https://krm.example.com
  krmhub logout --all`,
    )
    .action(async (url: string | undefined, options: LogoutOptions) => {
      const { logout } = await import('../registry/login.js');
      await logout(io, url, options);
    });
}
