import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { say, warn } from '../io/print.js';
import { registryUrl } from '../registry/connection.js';
import { chosenRegistry } from './login.js';
import { withRegistry } from './options.js';

export function registerLogout(program: Command, io: Io): void {
  withRegistry(program.command('logout'))
    .description('Forget the token that login saved for a registry. The token itself stays good.')
    .argument('[url]', 'Registry to log out of; the same as --registry.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub logout
  krmhub logout https://krm.example.com`,
    )
    .action(async (url: string | undefined, options: { registry?: string }) => {
      const { parseRegistryUrl } = await import('@krmhub/api/client');
      const registry = parseRegistryUrl(registryUrl(io, chosenRegistry(url, options.registry)));
      const { forgetToken } = await import('../registry/credentials.js');
      const forgotten = await forgetToken(io, registry);
      await say(
        io,
        forgotten
          ? `The token for ${registry.origin} is forgotten. To end it too: krmhub token revoke ID`
          : `No token was saved for ${registry.origin}.`,
      );
      if ((io.env.KRMHUB_TOKEN ?? '') !== '') await warn(io, 'KRMHUB_TOKEN is still set, and is used');
    });
}
