import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { VerifyOptions } from '../signatures/verify-artifact.js';
import { withOutput, withPlainHttp } from './options.js';

export function registerVerify(program: Command, io: Io): void {
  withOutput(withPlainHttp(program.command('verify')))
    .description('Verify who signed a file, or an artifact in any OCI registry, and show every check.')
    .argument('<artifact>', 'A file, HOST/REPOSITORY:TAG or HOST/REPOSITORY@DIGEST, or sha256:….')
    .option('--key <file>', 'Public key of who must have signed.')
    .option('--identity <name>', 'Who must have signed: the exact name in the certificate.')
    .option('--identity-pattern <regexp>', 'The same as a regular expression from ^ to $ (RE2).')
    .option('--issuer <url>', 'Who must have seen that identity.')
    .option('--policy <name>', 'The policy of your trust that has to hold, for any artifact.')
    .option('--bundle <file>', 'Bundle of a file; FILE.sigstore.json by default.')
    .option('--trusted-root <file>', 'The sigstore instance that is believed; else KRMHUB_TRUSTED_ROOT.')
    .option('--type <uri>', 'Ask for statements of this type, or "any", in place of a signature.')
    .addHelpText(
      'after',
      `
One good bundle is enough. Signatures of cosign are read in both of its forms.
Without --key or --identity, the policies of \`krmhub trust\` say who must have
signed: those that cover a definition's group and release, or --policy.
No network is used for a file: the public sigstore instance is believed as this
program was shipped with it, or another one as its trusted root says.

Examples:
  krmhub verify catalog.yaml --key krmhub.pub
  krmhub verify catalog.yaml --key krmhub.pub --bundle catalog.bundle.json -o json
  krmhub verify localhost:5000/team/catalog:v1 --key krmhub.pub
  krmhub verify localhost:5000/team/exec:1.0.0 --policy example
  krmhub verify catalog.yaml --identity releases@example.com --issuer https://accounts.example.com`,
    )
    .action(async (artifact: string, options: VerifyOptions) => {
      const { verifyArtifact } = await import('../signatures/verify-artifact.js');
      await verifyArtifact(io, artifact, options);
    });
}
