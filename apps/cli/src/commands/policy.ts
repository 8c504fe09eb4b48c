import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { PolicyOptions } from '../signatures/registry-policies.js';
import { withOutput, withRegistry } from './options.js';

export function registerPolicy(program: Command, io: Io): void {
  const policy = program
    .command('policy')
    .summary('Manage signing policies.')
    .description('List and replace the signing policies of a registry.')
    .addHelpText('after', '\nExamples:\n  krmhub policy list\n  krmhub policy apply policies.yaml --dry-run');
  withOutput(withRegistry(policy.command('list')))
    .summary('List the policies.')
    .description('List the signing policies of a registry.')
    .option('--text', 'Print the applied YAML, to edit and apply again.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub policy list
  krmhub policy list --text > policies.yaml`,
    )
    .action(async (options: PolicyOptions) => {
      const { listPolicies } = await import('../signatures/registry-policies.js');
      await listPolicies(io, options);
    });
  withOutput(withRegistry(policy.command('apply')))
    .summary('Replace all policies (admin).')
    .description('Replace all signing policies of a registry (admin).')
    .argument('<file>', 'YAML file with one SigningPolicy per document, or - for stdin.')
    .option('--remove', 'Allow the removal of policies that the file does not contain.')
    .option('--dry-run', 'Show the effect on trusted signers and verdicts, and change nothing.')
    .option('--yes', 'Do not ask for confirmation.')
    .addHelpText(
      'after',
      `
A policy lists groups, a range of releases, and the keys or identities that can
sign them. If a policy covers a release, the registry rejects the release
without such a signature. The file contains all policies. To delete a policy,
remove it from the file and use --remove.

For each group, the command prints the added and removed signers. In a terminal,
it asks for confirmation before it applies the policies.

Examples:
  krmhub policy apply policies.yaml --dry-run
  krmhub policy apply policies.yaml`,
    )
    .action(async (file: string, options: PolicyOptions) => {
      const { applyPolicies } = await import('../signatures/registry-policies.js');
      await applyPolicies(io, file, options);
    });
}
