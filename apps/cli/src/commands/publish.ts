import type { Command } from 'commander';
import type { PublishOptions } from '../functions/publish/publish.js';
import type { Io } from '../io/io.js';
import { collect, withOutput, withRegistry } from './options.js';

export function registerPublish(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('publish')))
    .summary('Publish definitions as releases.')
    .description('Check definitions and catalogs, and publish each definition as a release.')
    .argument('<files...>', 'Definitions and catalogs: files, folders, oci://… artifacts, or - for stdin.')
    .option(
      '--release <release>',
      'Release to publish. Default: the version in the image tags or download URLs.',
    )
    .option('--readme <file>', 'Markdown file to publish with a single definition.')
    .option('--allow-breaking', 'Publish changes that break users of the previous release.')
    .option(
      '--script-repository <host/repository>',
      'Repository for the Starlark script of a definition. Default: scripts/GROUP/KIND in the registry.',
    )
    .option('--notes <file>', 'Notes of the release of a single definition, or a changelog.')
    .option('--dry-run', 'Check the releases with the registry, and publish nothing.')
    .option('--key <file>', 'Sign each release with this private key of krmhub or cosign.')
    .option('--keyless', 'Sign each release with an identity token. See `krmhub sign`.')
    .option('--identity-token-file <file>', 'File with an OIDC token for the audience sigstore.')
    .option('--bundle <file>', 'Signature or attestation of a single definition. Repeatable.', collect)
    .option('--no-wait', 'Do not wait until the catalogs include the releases.')
    .addHelpText(
      'after',
      `
A release is immutable: publishing the same bytes again changes nothing, and the
registry rejects other bytes. The command checks all releases before it
publishes the first one. It rejects changes that break users of the previous
release, unless you use --allow-breaking. A Starlark script that a definition
names by its path is pushed first, and the release gets its reference and
digest.

With --notes, the page, the feed, and \`krmhub show\` have the notes of the
release. If the file is a changelog, these are its section for the release, such
as "## 1.2.0". No signature covers notes.

If \`krmhub sign\` wrote FILE.sigstore.json next to a definition, the command
publishes this bundle with the release. It rejects a bundle of other bytes or of
another release. With --key, --keyless, or --bundle, it does not read the file.

Examples:
  krmhub publish definition.yaml --release 1.0.0 --readme README.md
  krmhub publish definition.yaml --release 1.0.0 --dry-run
  krmhub publish definition.yaml --release 5.0.0 --notes CHANGELOG.md
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
