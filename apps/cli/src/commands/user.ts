import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { UserOptions } from '../registry/users.js';
import { withOutput, withRegistry } from './options.js';

export function registerUser(program: Command, io: Io): void {
  const user = program
    .command('user')
    .summary('Show and suspend the users of a registry.')
    .description('Show the people who sign in to a registry, and suspend them (admin).')
    .addHelpText('after', '\nExamples:\n  krmhub user list\n  krmhub user suspend alice@example.com');
  registerList(user, io);
  registerShow(user, io);
  registerSuspend(user, io);
  registerRestore(user, io);
}

function registerList(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('list')))
    .summary('List the users (admin).')
    .description('List the users, with their teams (admin).')
    .argument('[text]', 'Only users with this text in the name or the e-mail address.')
    .addHelpText('after', '\nExamples:\n  krmhub user list\n  krmhub user list example.com -o json')
    .action(async (text: string | undefined, options: UserOptions) => {
      const { listUsers } = await import('../registry/users.js');
      await listUsers(io, text, options);
    });
}

const USER = 'ID, e-mail address, or name, if no other user has it.';

function registerShow(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('show')))
    .summary('Show a user (admin).')
    .description('Show a user: groups, teams, sessions, and tokens (admin).')
    .argument('<user>', USER)
    .addHelpText('after', '\nExample:\n  krmhub user show alice@example.com')
    .action(async (user: string, options: UserOptions) => {
      const { showUser } = await import('../registry/users.js');
      await showUser(io, user, options);
    });
}

function registerSuspend(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('suspend')))
    .summary('Suspend a user (admin).')
    .description('End the sessions of a user at once, and refuse the personal tokens (admin).')
    .argument('<user>', USER)
    .addHelpText(
      'after',
      `
Tokens that administrators created for teams and for CI still work: list them
with \`krmhub token list\`.

Example:
  krmhub user suspend alice@example.com`,
    )
    .action(async (user: string, options: UserOptions) => {
      const { suspendUser } = await import('../registry/users.js');
      await suspendUser(io, user, options);
    });
}

function registerRestore(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('restore')))
    .summary('End the suspension of a user (admin).')
    .description('End the suspension of a user (admin).')
    .argument('<user>', USER)
    .addHelpText(
      'after',
      `
If the directory (SCIM) of the first identity provider suspended the user,
activate the user there. If its provider was removed or is not the first one any
more, this command ends the suspension. It then revokes the personal tokens, and
the user must sign in.

Example:
  krmhub user restore alice@example.com`,
    )
    .action(async (user: string, options: UserOptions) => {
      const { restoreUser } = await import('../registry/users.js');
      await restoreUser(io, user, options);
    });
}
