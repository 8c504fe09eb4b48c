import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import type { SignOptions } from '../signatures/sign-artifact.js';
import { withPlainHttp } from './options.js';

export function registerSign(program: Command, io: Io): void {
  withPlainHttp(program.command('sign'))
    .description('Sign a file, or an artifact in any OCI registry, by a key or an identity.')
    .argument('<artifact>', 'A file, HOST/REPOSITORY:TAG or HOST/REPOSITORY@DIGEST, or sha256:….')
    .option('--key <file>', 'Private key of `krmhub keygen` or cosign.')
    .option('--keyless', 'Sign as whoever an identity token names, without a key.')
    .option('--output <bundle>', 'Where the bundle goes; FILE.sigstore.json by default.')
    .option('--overwrite', 'Replace another bundle that is there.')
    .option('--release <release>', 'Sign that the definition in the file is this release.')
    .option('--readme <file>', 'The README that the release will have.')
    .option('--predicate <file>', 'JSON that is said of the artifact: provenance, test results, parts.')
    .option('--type <uri>', 'What that is, such as https://slsa.dev/provenance/v1.')
    .option('--identity-token-file <file>', 'Token of an OIDC issuer for the audience sigstore.')
    .option('--fulcio-url <url>', 'Authority that gives certificates; else KRMHUB_FULCIO_URL.')
    .option('--rekor-url <url>', 'Log of signatures; else KRMHUB_REKOR_URL.')
    .addOption(new Option('--rekor-version <version>', 'API of the log; 1 by default.').choices(['1', '2']))
    .option('--timestamp-url <url>', 'Authority for the time; else KRMHUB_TIMESTAMP_URL.')
    .option('--trusted-root <file>', 'What a keyless signature is held against; else KRMHUB_TRUSTED_ROOT.')
    .addHelpText(
      'after',
      `
A file gets a bundle beside it, an artifact one that refers to it, as cosign
writes them. Without addresses the public sigstore instance signs, and its log
shows the name of the signer to everybody. The identity token comes from a file,
SIGSTORE_ID_TOKEN or GitHub Actions; the password of a key from a terminal,
KRMHUB_KEY_PASSWORD or COSIGN_PASSWORD.

Examples:
  krmhub sign definition.yaml --key krmhub.key --release 1.0.0
  krmhub sign catalog.yaml --key krmhub.key --output catalog.bundle.json
  krmhub sign catalog.yaml --keyless
  krmhub sign localhost:5000/team/catalog:v1 --key krmhub.key
  krmhub sign localhost:5000/team/catalog:v1 --key krmhub.key --predicate tests.json --type https://example.com/tests/v1`,
    )
    .action(async (artifact: string, options: SignOptions) => {
      const { signArtifact } = await import('../signatures/sign-artifact.js');
      await signArtifact(io, artifact, options);
    });
}
