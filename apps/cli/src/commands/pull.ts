import type { Command } from 'commander';
import type { PullOptions } from '../artifacts/pull-artifact.js';
import type { Io } from '../io/io.js';
import { platformOf, withOutput, withPlainHttp } from './options.js';

export function registerPull(program: Command, io: Io): void {
  withOutput(withPlainHttp(program.command('pull')))
    .description('Pull the files of an artifact from any OCI registry.')
    .argument('<reference>', 'HOST/REPOSITORY:TAG or HOST/REPOSITORY@DIGEST.')
    .option('--out <folder>', 'Where the files go.', '.')
    .option('--platform <os/arch>', 'Of executables for several; this machine by default.', platformOf)
    .option('--overwrite', 'Replace files that have other content.')
    .option('--require-trust', 'Refuse what nobody vouches for whom you trust.')
    .option('--policy <name>', 'The policy of your trust that has to hold, for any artifact.')
    .option('--trusted-root <file>', 'The sigstore instance that is believed; else KRMHUB_TRUSTED_ROOT.')
    .addHelpText(
      'after',
      `
Every file is checked against its digest, and written whole or not at all. A
definition whose group and release a policy of \`krmhub trust\` covers has to be
signed as that release by one whom the policy names; else nothing is written.
Other artifacts have no group: name the policy that they have to fulfil.

Examples:
  krmhub pull registry.example.com/team/catalog:v1
  krmhub pull localhost:5000/team/catalog:v1 --out catalogs/ --overwrite
  krmhub pull localhost:5000/team/exec:1.0.0 --platform linux/amd64
  krmhub pull localhost:5000/team/exec:1.0.0 --policy example`,
    )
    .action(async (reference: string, options: PullOptions) => {
      const { pullArtifact } = await import('../artifacts/pull-artifact.js');
      await pullArtifact(io, reference, options);
    });
}
