import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { VerifyOptions } from '../signatures/print-bundle.js';
import { withArtifact, withOutput, withSnapshotLimits } from './options.js';

export function registerVerify(program: Command, io: Io): void {
  withOutput(withSnapshotLimits(withArtifact(program.command('verify'))))
    .summary('Verify a file, a release, or an OCI artifact.')
    .description('Verify the signature of a file, a release, or an OCI artifact, and show every check.')
    .argument(
      '<artifact>',
      'A file, GROUP/KIND[@RELEASE], HOST/REPOSITORY:TAG, HOST/REPOSITORY@DIGEST, or sha256:….',
    )
    .option('--key <file>', 'Public key of the signer.')
    .option('--identity <name>', 'Identity of the signer, exactly as in the certificate.')
    .option('--identity-pattern <regexp>', 'Identity as a regular expression from ^ to $ (RE2).')
    .option('--issuer <url>', 'OIDC issuer of the identity.')
    .option('--policy <name>', 'Require that the artifact satisfies this policy of `krmhub trust`.')
    .option('--bundle <file>', 'Bundle of a file. Default: FILE.sigstore.json.')
    .option('--trusted-root <file>', 'Trusted root of sigstore. Default: KRMHUB_TRUSTED_ROOT.')
    .option(
      '--type <uri>',
      'Require an attestation of this type, "tests" that passed, or "any", instead of a signature.',
    )
    .addHelpText(
      'after',
      `
One valid bundle is enough. The command reads both signature formats of cosign.
Without --key and --identity, it uses the policies of \`krmhub trust\` that cover
the group and release of the definition, or the policy in --policy. For a file,
the command does not use the network. GROUP/KIND without a release is the newest
release that is not yanked. --min-serial and --max-age apply to a catalog in an
OCI registry, and the command then uses only the keys that are pinned for it.

Exit codes: 0 verified, 3 not found, 4 not trusted.

Examples:
  krmhub verify catalog.yaml --key krmhub.pub
  krmhub verify catalog.yaml --key krmhub.pub --bundle catalog.bundle.json -o json
  krmhub verify example.com/SetLabels@1.0.0 --key krmhub.pub
  krmhub verify example.com/SetOwner@1.0.0 --key tester.pub --type tests
  krmhub verify localhost:5000/team/catalog:v1 --key krmhub.pub
  krmhub verify localhost:5000/team/exec:1.0.0 --policy example
  krmhub verify catalog.yaml --identity releases@example.com --issuer https://accounts.example.com`,
    )
    .action(async (artifact: string, options: VerifyOptions) => {
      const { verifyArtifact } = await import('../signatures/verify-artifact.js');
      await verifyArtifact(io, artifact, options);
    });
}
