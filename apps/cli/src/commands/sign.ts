import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import type { SignOptions } from '../signatures/sign-artifact.js';
import { withArtifact, withOutput } from './options.js';

export function registerSign(program: Command, io: Io): void {
  withOutput(withArtifact(program.command('sign')))
    .summary('Sign a file, a release, or an OCI artifact.')
    .description('Sign a file, a release, or an OCI artifact with a key or an identity.')
    .argument(
      '<artifact>',
      'A file, GROUP/KIND[@RELEASE], HOST/REPOSITORY:TAG, HOST/REPOSITORY@DIGEST, or sha256:….',
    )
    .option('--key <file>', 'Private key from `krmhub keygen` or cosign.')
    .option('--keyless', 'Sign with the identity of an OIDC token, without a key.')
    .option('--bundle <file>', 'File for the bundle. Default: FILE.sigstore.json.')
    .option('--overwrite', 'Replace an existing bundle that differs.')
    .option('--release <release>', 'Sign the definition in the file as this release.')
    .option('--readme <file>', 'README that you publish with the release.')
    .option('--predicate <file>', 'JSON file with an attestation, for example provenance or test results.')
    .option('--type <uri>', 'Predicate type, for example https://slsa.dev/provenance/v1.')
    .option('--identity-token-file <file>', 'File with an OIDC token for the audience sigstore.')
    .option('--fulcio-url <url>', 'Certificate authority. Default: KRMHUB_FULCIO_URL.')
    .option('--rekor-url <url>', 'Transparency log. Default: KRMHUB_REKOR_URL.')
    .addOption(
      new Option('--rekor-version <version>', 'API version of the log. Default: 1.').choices(['1', '2']),
    )
    .option('--timestamp-url <url>', 'Timestamp authority. Default: KRMHUB_TIMESTAMP_URL.')
    .option('--trusted-root <file>', 'Trusted root of sigstore. Default: KRMHUB_TRUSTED_ROOT.')
    .addHelpText(
      'after',
      `
For a file, the command writes a bundle next to it, which \`krmhub publish\` uses.
For a release or an OCI artifact, it pushes a bundle as a referrer, as cosign
does. GROUP/KIND without a release is the newest release that is not yanked.

Keyless signing uses the public sigstore instance by default, and its log
publishes the identity of the signer. The identity token comes from a file,
SIGSTORE_ID_TOKEN, or GitHub Actions. The password of a key comes from
KRMHUB_KEY_PASSWORD, COSIGN_PASSWORD, or a prompt.

Examples:
  krmhub sign definition.yaml --key krmhub.key --release 1.0.0
  krmhub sign catalog.yaml --key krmhub.key --bundle catalog.bundle.json
  krmhub sign catalog.yaml --keyless
  krmhub sign example.com/SetLabels@1.0.0 --key krmhub.key
  krmhub sign localhost:5000/team/catalog:v1 --key krmhub.key
  krmhub sign localhost:5000/team/catalog:v1 --key krmhub.key --predicate tests.json --type https://example.com/tests/v1`,
    )
    .action(async (artifact: string, options: SignOptions) => {
      const { signArtifact } = await import('../signatures/sign-artifact.js');
      await signArtifact(io, artifact, options);
    });
}
