import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import type { EntryOptions } from '../signatures/trust/new-entry.js';
import { collectList, withOutput } from './options.js';

export function registerTrust(program: Command, io: Io): void {
  const trust = program
    .command('trust')
    .description('Say on this machine whose signatures you trust, for which functions.')
    .addHelpText(
      'after',
      `
Whom you trust stands in trust.yaml beside the credentials of \`krmhub login\`, or
in the file that KRMHUB_TRUST names. It holds SigningPolicy and TrustedCatalog
documents and can be edited. Where it cannot be read, nothing is trusted.

Examples:
  krmhub trust add example --group example.com --key krmhub.pub
  krmhub trust list`,
    );
  registerAdd(trust, io);
  registerList(trust, io);
  registerRemove(trust, io);
}

function registerAdd(parent: Command, io: Io): void {
  parent
    .command('add')
    .description('Trust a key or an identity for functions, or the keys of a catalog.')
    .argument('<what...>', 'A name for a new policy, the address of a catalog, or files of policies.')
    .option('--group <glob>', 'Groups of functions, such as *.example.com. Repeat for more.', collectList)
    .option('--key <file>', 'Public key of who signs. Repeat for more.', collectFiles)
    .option('--issuer <url>', 'Who must have seen the identity that signs.')
    .option('--identity <name>', 'Who signs: the exact name in the certificate.')
    .option('--identity-pattern <regexp>', 'The same as a regular expression from ^ to $ (RE2).')
    .option('--releases <range>', "Only these releases, as npm's semver reads it.")
    .option('--valid-from <time>', 'Signatures from then on, such as 2027-01-31.')
    .option('--valid-until <time>', 'Signatures before then.')
    .option('--name <name>', 'Name for the address of a catalog; made of it by default.')
    .option('--replace', 'Change whom a name trusts that is there already.')
    .addHelpText(
      'after',
      `
Prepare for a registry that changes its key by pinning both, with --replace.

Examples:
  krmhub trust add example --group example.com --key krmhub.pub
  krmhub trust add example --group '*.example.com' --key krmhub.pub --releases '>=1.0.0'
  krmhub trust add ci --group example.com --issuer https://accounts.example.com --identity ci@example.com
  krmhub trust add https://krm.example.com/catalogs/default --key registry.pub
  krmhub trust add policies.yaml`,
    )
    .action(async (names: string[], options: EntryOptions & { replace?: boolean }) => {
      const { addTrust } = await import('../signatures/trust/edit-trust.js');
      await addTrust(io, names, options);
    });
}

function registerList(parent: Command, io: Io): void {
  withOutput(parent.command('list'))
    .description('List whom you trust, for what and until when.')
    .addHelpText('after', '\nExamples:\n  krmhub trust list\n  krmhub trust list -o json')
    .action(async (options: { output: OutputFormat }) => {
      const { listTrust } = await import('../signatures/trust/list-trust.js');
      await listTrust(io, options);
    });
}

function registerRemove(parent: Command, io: Io): void {
  parent
    .command('remove')
    .description('Trust no longer what stands under a name.')
    .argument('<name>', 'Name as `trust list` shows it.')
    .addHelpText('after', '\nExamples:\n  krmhub trust remove old')
    .action(async (name: string) => {
      const { removeTrust } = await import('../signatures/trust/edit-trust.js');
      await removeTrust(io, name);
    });
}

/** Names of files may have commas. */
function collectFiles(file: string, files: readonly string[] | undefined): string[] {
  return [...(files ?? []), file];
}
