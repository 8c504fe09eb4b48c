import type { Command } from 'commander';
import { collect } from './options.js';

/** The options of a new signing policy, for commands of a registry and of this machine. */
export function withSigner(command: Command): Command {
  return command
    .option('--key <file>', 'Public key of the signer. Repeatable.', collect)
    .option('--issuer <url>', 'OIDC issuer of the identity.')
    .option('--identity <name>', 'Identity of the signer, exactly as in the certificate.')
    .option('--identity-pattern <regexp>', 'Identity as a regular expression from ^ to $ (RE2).')
    .option(
      '--require <field=value>',
      'What the certificate must state, for example repositoryId=123. Repeatable.',
      collect,
    )
    .option('--releases <range>', 'Only these releases, as an npm semver range.')
    .option('--valid-from <time>', 'Trust signatures from this time, for example 2027-01-31.')
    .option('--valid-until <time>', 'Trust signatures before this time.');
}
