import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import type { ClaimOptions, OwnerOptions } from '../registry/owners.js';
import { withOutput, withRegistry } from './options.js';

export function registerOwner(program: Command, io: Io): void {
  const owner = program
    .command('owner')
    .summary('Show and claim the owners of groups.')
    .description('Show whose a group of functions is, and prove that it is your team’s.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub owner list
  krmhub owner claim example.com --team platform`,
    );
  registerList(owner, io);
  registerClaim(owner, io);
  registerVerify(owner, io);
  registerTransfer(owner, io);
  registerRelease(owner, io);
}

function registerList(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('list')))
    .summary('List the owners of groups.')
    .description('List the groups that have an owner, and how each owner was shown.')
    .argument('[group]', 'Only this group.')
    .addHelpText(
      'after',
      `
PROOF is administrator (the Access document of the registry), dns, or https.
CHECKED is when the registry last looked for the proof.
PROBLEM says since when the proof is missing, and why.

Examples:
  krmhub owner list
  krmhub owner list -o json`,
    )
    .action(async (group: string | undefined, options: OwnerOptions) => {
      const { listOwners } = await import('../registry/owners.js');
      await listOwners(io, group, options);
    });
}

function registerClaim(parent: Command, io: Io): void {
  withProof(withOutput(withRegistry(parent.command('claim'))))
    .summary('Claim a group for a team.')
    .description('Claim a group for a team, with a proof that its domain publishes.')
    .argument('<group>', 'The group, which is a domain, for example example.com.')
    .requiredOption('--team <name>', 'Team in the Access document of the registry.')
    .addHelpText(
      'after',
      `
The command says which TXT record or file proves the claim. Publish it, and run
the command again. The registry looks for the proof again every week. If the
proof is missing for two weeks, the claim ends.

From then on, only tokens of the team, teams with a grant, and administrators
can publish in the group.

Exit codes: 0 claimed, 6 no right, or no proof.

Examples:
  krmhub owner claim example.com --team platform
  krmhub owner claim example.com --team platform --proof https`,
    )
    .action(async (group: string, options: ClaimOptions) => {
      const { claimGroup } = await import('../registry/owners.js');
      await claimGroup(io, group, options);
    });
}

function registerVerify(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('verify')))
    .summary('Look for the proof of an owner now.')
    .description('Have the registry look for the proof of an owner now.')
    .argument('<group>', 'The group.')
    .addHelpText(
      'after',
      `
Exit codes: 0 the proof is there, 4 it is missing, 3 nobody claimed the group.

Example:
  krmhub owner verify example.com`,
    )
    .action(async (group: string, options: OwnerOptions) => {
      const { verifyOwner } = await import('../registry/owners.js');
      await verifyOwner(io, group, options);
    });
}

function registerTransfer(parent: Command, io: Io): void {
  withProof(withOutput(withRegistry(parent.command('transfer'))))
    .summary('Give a group to another team.')
    .description('Give a group that your team owns to another team.')
    .argument('<group>', 'The group.')
    .requiredOption('--team <name>', 'The new owner.')
    .addHelpText(
      'after',
      `
The proof must name the new team before. The old owner loses its rights in the
group, except for grants.

Example:
  krmhub owner transfer example.com --team apps`,
    )
    .action(async (group: string, options: ClaimOptions) => {
      const { claimGroup } = await import('../registry/owners.js');
      await claimGroup(io, group, options);
    });
}

function registerRelease(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('release')))
    .summary('End the claim to a group.')
    .description('End the claim to a group, which then has no owner.')
    .argument('<group>', 'The group.')
    .addHelpText(
      'after',
      `
Example:
  krmhub owner release example.com`,
    )
    .action(async (group: string, options: OwnerOptions) => {
      const { releaseGroup } = await import('../registry/owners.js');
      await releaseGroup(io, group, options);
    });
}

function withProof(command: Command): Command {
  return command.addOption(
    new Option('--proof <kind>', 'Where the domain publishes the proof.')
      .choices(['dns', 'https'])
      .default('dns'),
  );
}
