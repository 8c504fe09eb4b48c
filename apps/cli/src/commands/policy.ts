import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { PolicyOptions } from '../signatures/policies/apply-policies.js';
import type { ListPoliciesOptions } from '../signatures/policies/list-policies.js';
import type { EntryOptions } from '../signatures/trust/new-entry.js';
import { collectList, withOutput, withRegistry } from './options.js';
import { withSigner } from './signer-options.js';

export function registerPolicy(program: Command, io: Io): void {
  const policy = program
    .command('policy')
    .summary('Manage signing policies.')
    .description('List, add, remove, and replace the signing policies of a registry.')
    .addHelpText(
      'after',
      '\nExamples:\n  krmhub policy list\n  krmhub policy add team --group team.example.com --key krmhub.pub --yes\n  krmhub policy apply policies.yaml --dry-run',
    );
  registerList(policy, io);
  registerAdd(policy, io);
  registerRemove(policy, io);
  registerApply(policy, io);
}

function registerList(policy: Command, io: Io): void {
  withOutput(withRegistry(policy.command('list')))
    .summary('List the policies.')
    .description(
      'List the signing policies of a registry: their groups, what they require, and their signers.',
    )
    .option('--text', 'Print the applied YAML, to edit and apply again.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub policy list
  krmhub policy list --text > policies.yaml`,
    )
    .action(async (options: ListPoliciesOptions) => {
      const { listPolicies } = await import('../signatures/policies/list-policies.js');
      await listPolicies(io, options);
    });
}

function registerAdd(policy: Command, io: Io): void {
  const add = withChange(policy.command('add'))
    .summary('Add a policy (admin).')
    .description('Require signatures of a key or an identity for the releases of groups (admin).')
    .argument('<name>', 'Name of the policy.')
    .requiredOption(
      '--group <glob>',
      'Groups of functions, for example *.example.com. Repeatable.',
      collectList,
    );
  withSigner(add)
    .option('--replace', 'Replace an existing policy.')
    .addHelpText(
      'after',
      `
The other policies stay. The registry then rejects releases of these groups
without such a signature. The command prints the added and removed signers of
each group, and asks for confirmation. Without a terminal, use --yes.

Examples:
  krmhub policy add team --group team.example.com --key krmhub.pub --yes
  krmhub policy add ci --group ci.example.com --issuer https://accounts.example.com --identity ci@example.com --dry-run`,
    )
    .action(
      async (
        name: string,
        options: PolicyOptions & EntryOptions & { group: string[]; replace?: boolean },
      ) => {
        const { addPolicy } = await import('../signatures/policies/edit-policies.js');
        await addPolicy(io, name, options);
      },
    );
}

function registerRemove(policy: Command, io: Io): void {
  withChange(policy.command('remove'))
    .summary('Remove a policy (admin).')
    .description('Remove a signing policy of a registry (admin).')
    .argument('<name>', 'Name from `krmhub policy list`.')
    .addHelpText(
      'after',
      `
The command prints the signers that are no longer trusted, and asks for
confirmation. Without a terminal, use --yes.

Examples:
  krmhub policy remove team --dry-run
  krmhub policy remove team --yes`,
    )
    .action(async (name: string, options: PolicyOptions) => {
      const { removePolicy } = await import('../signatures/policies/edit-policies.js');
      await removePolicy(io, name, options);
    });
}

/** For commands that change policies. */
function withChange(command: Command): Command {
  return withOutput(withRegistry(command))
    .option('--dry-run', 'Show the effect on trusted signers and verdicts, and change nothing.')
    .option('--yes', 'Do not ask for confirmation.');
}

function registerApply(policy: Command, io: Io): void {
  withChange(policy.command('apply'))
    .summary('Replace all policies (admin).')
    .description('Replace all signing policies of a registry (admin).')
    .argument('<file>', 'YAML file with one SigningPolicy per document, or - for stdin.')
    .option('--remove', 'Allow the removal of policies that the file does not contain.')
    .addHelpText(
      'after',
      `
A policy lists groups, a range of releases, and the keys or identities that can
sign them. If a policy covers a release, the registry rejects the release
without such a signature. The file contains all policies. To delete a policy,
remove it from the file and use --remove.

For each group, the command prints the added and removed signers, and asks for
confirmation. Without a terminal, use --yes.

Examples:
  krmhub policy apply policies.yaml --dry-run
  krmhub policy apply policies.yaml --yes`,
    )
    .action(async (file: string, options: PolicyOptions) => {
      const { applyPolicies } = await import('../signatures/policies/apply-policies.js');
      await applyPolicies(io, file, options);
    });
}
