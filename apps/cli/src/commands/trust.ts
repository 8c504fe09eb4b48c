import type { Command } from 'commander';
import { parseDuration } from '../io/duration.js';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import type { AddOptions } from '../signatures/trust/edit-trust.js';
import { collect, collectList, parseSerial, withOutput } from './options.js';
import { withSigner } from './signer-options.js';

export function registerTrust(program: Command, io: Io): void {
  const trust = program
    .command('trust')
    .summary('Manage the signers that you trust.')
    .description('Manage the signers that you trust on this machine.')
    .addHelpText(
      'after',
      `
krmhub stores the signers in trust.yaml, in the folder of \`krmhub login\`, or in
the file that KRMHUB_TRUST sets. It contains SigningPolicy, TrustedCatalog, and
CatalogTrust documents, and you can edit it. A CatalogTrust lists catalogs
that commands use without --official and --trusted-catalog. If krmhub cannot
read the file, it trusts no signer.

Examples:
  krmhub trust add example --group example.com --key krmhub.pub
  krmhub trust list`,
    );
  registerAdd(trust, io);
  registerList(trust, io);
  registerRemove(trust, io);
}

function registerAdd(parent: Command, io: Io): void {
  const add = withOutput(parent.command('add'))
    .summary('Trust a signer, or pin a catalog.')
    .description('Trust a key or an identity for functions, or pin the keys of a catalog.')
    .argument('<what...>', 'Name of a new policy, URL of a catalog, or files with policies.')
    .option('--group <glob>', 'Groups of functions, for example *.example.com. Repeatable.', collectList);
  withSigner(add)
    .option('--name <name>', 'Name of the entry for a catalog URL. Default: derived from the URL.')
    .option(
      '--catalog <name>',
      'Name of the catalog in its signature. Default: NAME of a URL with /catalogs/NAME.',
    )
    .option('--min-serial <serial>', 'Oldest snapshot of the catalog to accept.', parseSerial)
    .option(
      '--max-age <duration>',
      'Longest time since the newest snapshot of the catalog was signed, for example 30d.',
      parseDuration,
    )
    .option(
      '--fingerprint <digest>',
      'Fetch the key of the registry, and pin it if it has this fingerprint. Repeatable.',
      collect,
    )
    .option('--yes', 'Fetch the key of the registry, and pin it without a question.')
    .option('--replace', 'Replace an existing entry.')
    .addHelpText(
      'after',
      `
Without --key, the command fetches the keys of the registry, prints their
fingerprints, and asks. Compare them with those from the operator.

To prepare for a key rotation of a registry, pin both keys with --replace.

A registry signs all its catalogs with one key. For a URL that does not contain
the name of the catalog, such as a mirror, set it with --catalog. Without it,
krmhub accepts every catalog that the key signs at this URL.

--min-serial and --max-age apply to every command that reads the catalog, also
on a machine that has verified no snapshot of it.

Examples:
  krmhub trust add example --group example.com --key krmhub.pub
  krmhub trust add example --group '*.example.com' --key krmhub.pub --releases '>=1.0.0'
  krmhub trust add ci --group example.com --issuer https://accounts.example.com --identity ci@example.com
  krmhub trust add https://krm.example.com/catalogs/default
  krmhub trust add https://krm.example.com/catalogs/default --key registry.pub
  krmhub trust add https://krm.example.com/catalogs/default --key registry.pub --max-age 30d
  krmhub trust add https://mirror.example.com/krm --catalog default --key registry.pub
  krmhub trust add policies.yaml`,
    )
    .action(async (names: string[], options: AddOptions) => {
      const { addTrust } = await import('../signatures/trust/edit-trust.js');
      await addTrust(io, names, options);
    });
}

function registerList(parent: Command, io: Io): void {
  withOutput(parent.command('list'))
    .summary('List the trusted signers.')
    .description('List the trusted signers, their groups, and their validity.')
    .addHelpText('after', '\nExamples:\n  krmhub trust list\n  krmhub trust list -o json')
    .action(async (options: { output: OutputFormat }) => {
      const { listTrust } = await import('../signatures/trust/list-trust.js');
      await listTrust(io, options);
    });
}

function registerRemove(parent: Command, io: Io): void {
  withOutput(parent.command('remove'))
    .description('Remove a policy or a pinned catalog.')
    .argument('<name>', 'Name from `krmhub trust list`.')
    .addHelpText('after', '\nExamples:\n  krmhub trust remove old')
    .action(async (name: string, options: { output: OutputFormat }) => {
      const { removeTrust } = await import('../signatures/trust/edit-trust.js');
      await removeTrust(io, name, options);
    });
}
