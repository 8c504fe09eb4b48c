import { TOKEN_SCOPES } from '@krmhub/api/token-scopes';
import { Argument, type Command } from 'commander';
import type { Io } from '../io/io.js';
import type { AccessOptions, ApplyAccessOptions } from '../registry/access.js';
import { withOutput, withRegistry } from './options.js';

export function registerAccess(program: Command, io: Io): void {
  const access = program
    .command('access')
    .summary('Manage who may see and do what.')
    .description('Show, compare, apply, and check the Access document of a registry (admin).')
    .addHelpText(
      'after',
      `
The document declares teams, the owners of groups, who sees what (public,
internal, or private), and grants. Examples: krmhub docs access

Examples:
  krmhub access show > access.yaml
  krmhub access apply access.yaml --dry-run
  krmhub access check anonymous read example.com`,
    );
  registerShow(access, io);
  registerDiff(access, io);
  registerApply(access, io);
  registerCheck(access, io);
}

function registerShow(access: Command, io: Io): void {
  withOutput(withRegistry(access.command('show')))
    .summary('Print the document (admin).')
    .description('Print the Access document of a registry, to edit and apply again (admin).')
    .addHelpText('after', '\nExamples:\n  krmhub access show > access.yaml\n  krmhub access show -o json')
    .action(async (options: AccessOptions) => {
      const { showAccess } = await import('../registry/access.js');
      await showAccess(io, options);
    });
}

function registerDiff(access: Command, io: Io): void {
  withOutput(withRegistry(access.command('diff')))
    .summary('Show who gains and loses what (admin).')
    .description('Show who would gain and lose what with another Access document (admin).')
    .argument('<file>', 'YAML file with one Access document, or - for stdin.')
    .addHelpText(
      'after',
      '\nThe same as krmhub access apply --dry-run.\n\nExamples:\n  krmhub access diff access.yaml',
    )
    .action(async (file: string, options: AccessOptions) => {
      const { applyAccess } = await import('../registry/access.js');
      await applyAccess(io, file, { ...options, dryRun: true });
    });
}

function registerApply(access: Command, io: Io): void {
  withOutput(withRegistry(access.command('apply')))
    .summary('Replace the document (admin).')
    .description('Replace the Access document of a registry (admin).')
    .argument('<file>', 'YAML file with one Access document, or - for stdin.')
    .option('--dry-run', 'Show who would gain and lose what, and change nothing.')
    .option('--yes', 'Do not ask for confirmation.')
    .addHelpText(
      'after',
      `
The command prints which anonymous and internal clients, teams, users, and
tokens gain and lose what, without personal tokens, and asks for confirmation.
Without a terminal, use --yes. A change has effect at once. Copies that clients
have cannot be recalled.

Examples:
  krmhub access apply access.yaml --dry-run
  krmhub access apply access.yaml --yes`,
    )
    .action(async (file: string, options: ApplyAccessOptions) => {
      const { applyAccess } = await import('../registry/access.js');
      await applyAccess(io, file, options);
    });
}

function registerCheck(access: Command, io: Io): void {
  withOutput(withRegistry(access.command('check')))
    .summary('Explain a decision (admin).')
    .description('Print whether an actor may do something, and which rule says so (admin).')
    .argument('<actor>', 'ID or name of a token, anonymous, internal, team:NAME, or user:ID.')
    .addArgument(new Argument('<action>', 'What to do.').choices([...TOKEN_SCOPES, 'own']))
    .argument('<object>', 'GROUP, GROUP/KIND, catalog:NAME, repository:NAME, or registry.')
    .addHelpText(
      'after',
      `
The exit code is 0 if it is allowed, and 1 if it is not.

Examples:
  krmhub access check admin publish new.example.com
  krmhub access check anonymous read catalog:default
  krmhub access check team:platform publish labels.example.com`,
    )
    .action(async (actor: string, action: string, object: string, options: AccessOptions) => {
      const { checkAccess } = await import('../registry/access.js');
      await checkAccess(io, { actor, action, object }, options);
    });
}
