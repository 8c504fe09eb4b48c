import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { PinOptions } from '../pin/pin-definition.js';
import { collectPlatforms, withOutput } from './options.js';

export function registerPin(program: Command, io: Io): void {
  withOutput(program.command('pin'))
    .summary('Write digests into a definition.')
    .description(
      'Ask the registry of each image in a definition for its digest, and write it into the file. For an exec function, write the digest of each executable.',
    )
    .argument('[definition]', 'File with a definition, or folder with definition.yaml.', '.')
    .option('-i, --image <image>', 'Write this image, with its tag, and its digest.')
    .option('--files <folder>', 'Read the executables from this folder, by the last part of their URIs.')
    .option('--downloads <url>', 'Write this URL as the folder of the executables.')
    .option(
      '--platforms <list>',
      'Pin only the executables for these, for example linux/amd64.',
      collectPlatforms,
    )
    .option('--dry-run', 'Print the change, and write nothing.')
    .addHelpText(
      'after',
      `
The digest of an image for several platforms is that of its index, so it pins
all of them. Nothing else in the file changes. Without --files, the command
downloads each executable.

Examples:
  krmhub pin set-owner --image ghcr.io/acme/set-owner:v1.0.0
  krmhub pin set-owner/definition.yaml --dry-run
  krmhub pin check-limits --files check-limits/build
  krmhub pin check-limits --files build --downloads https://dl.example.com/v1.0.0`,
    )
    .action(async (name: string, options: Omit<PinOptions, 'dryRun'> & { dryRun?: boolean }) => {
      const { dryRun = false, downloads } = options;
      if (downloads !== undefined && parseUrl(downloads)?.protocol !== 'https:') {
        throw new KrmhubError('usage', '--downloads is not an https URL', {
          hint: 'Use the folder of the downloads, for example: --downloads https://dl.example.com/v1.0.0',
        });
      }
      const { pinDefinition } = await import('../pin/pin-definition.js');
      await pinDefinition(io, name, { ...options, dryRun });
    });
}
