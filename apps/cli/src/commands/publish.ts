import type { Command } from 'commander';
import type { PublishOptions } from '../functions/publish/publish.js';
import type { Io } from '../io/io.js';
import { withOutput, withRegistry } from './options.js';

export function registerPublish(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('publish')))
    .description('Check definitions and catalogs, and publish each definition as a release.')
    .argument('<files...>', 'Definitions and catalogs: files, folders, oci://… artifacts, or - for stdin.')
    .option(
      '--release <release>',
      'The release; else the version that image tags (or addresses of executables) share.',
    )
    .option('--readme <file>', 'Markdown that is kept with the release of a single definition.')
    .option('--allow-breaking', 'Publish what breaks files that were written for the release before.')
    .option('--dry-run', 'Ask the registry what it would do, and store nothing.')
    .option('--key <file>', 'Sign each release with this key of `krmhub keygen` or cosign.')
    .option('--keyless', 'Sign each release as whoever an identity token names; see `krmhub sign`.')
    .option('--identity-token-file <file>', 'Token of an OIDC issuer for the audience sigstore.')
    .option(
      '--bundle <file>',
      'Signature or attestation of a single definition; can be repeated.',
      (value: string, earlier: readonly string[] = []) => [...earlier, value],
    )
    .option('--no-wait', 'End before the catalogs hold the releases.')
    .addHelpText(
      'after',
      `
A release is forever: the same bytes again change nothing, other bytes are
refused. Everything is checked before anything is stored: what breaks files
that were written for the release before is refused as well, unless
--allow-breaking says so.

Examples:
  krmhub publish definition.yaml --release 1.0.0 --readme README.md
  krmhub publish definition.yaml --release 1.0.0 --dry-run
  krmhub publish definition.yaml --release 3.0.0 --allow-breaking
  krmhub publish definition.yaml --release 4.0.0 --key krmhub.key
  krmhub publish functions/ catalog.yaml
  krmhub convert metadata/ --out converted && krmhub publish converted`,
    )
    .action(async (files: string[], options: PublishOptions) => {
      const { publish } = await import('../functions/publish/publish.js');
      await publish(io, files, options);
    });
}
