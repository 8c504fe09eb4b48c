import { isTokenScope, TOKEN_SCOPES, type TokenScope } from '@krmhub/api/token-scopes';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Io } from '../io/io.js';
import { parseDays } from '../io/time.js';
import type { CreateTokenOptions, TokenOptions } from '../registry/tokens.js';
import { collectList, withOutput, withRegistry } from './options.js';

// The model itself loads a schema library.
const MAX_DAYS = 3_650;

export function registerToken(program: Command, io: Io): void {
  const token = program
    .command('token')
    .summary('Manage the tokens of a registry.')
    .description('Create, list, and revoke the tokens of a registry.')
    .addHelpText(
      'after',
      '\nExamples:\n  krmhub token list\n  krmhub token create ci --scope publish > ci.token',
    );
  registerCreate(token, io);
  registerList(token, io);
  registerRevoke(token, io);
  registerReportLeak(token, io);
}

function registerCreate(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('create')))
    .summary('Create a token.')
    .description('Create a token and print its secret on stdout, once.')
    .argument('<name>', 'Name of the token. Releases show it as the publisher.')
    .addOption(
      new Option(
        '--scope <scope>',
        `Permission: ${new Intl.ListFormat('en', { type: 'disjunction' }).format(TOKEN_SCOPES)}. Repeatable. Required.`,
      )
        .argParser(collectScopes)
        .makeOptionMandatory(),
    )
    .option('--group <glob>', 'Allowed groups, for example *.example.com. Default: all.', collectList)
    .option(
      '--repository <glob>',
      'Repositories that `push` allows, for example team/*. Default: all.',
      collectList,
    )
    .option('--team <name>', 'Team whose rights bound those of the token (admin).')
    .option('--robot', 'Create a token of a program, not of you (admin).')
    .option(
      '--expires <time>',
      'Lifetime, for example 30d, 12w, or 1y. Default: 90d, or the limit of the registry if it is less.',
      parseLifetime,
    )
    .addHelpText(
      'after',
      `
If you signed in as a user, the token is yours: it has at most the rights that
you have when it is used, ends while you are suspended, and has no more scopes,
groups, and days than the token of krmhub login. A page of the registry has no
such limits: /operate/tokens/new. With --robot or --team, and with a token that
has no user, an administrator creates a token of a program.

Examples:
  krmhub token create laptop --scope publish
  krmhub token create ci --scope publish --group example.com > ci.token
  krmhub token create ops --scope publish --scope yank --expires 1y
  krmhub token create readers --team platform --scope read > readers.token
  krmhub token create builds --scope push --repository 'team/*' > builds.token`,
    )
    .action(async (name: string, options: CreateTokenOptions) => {
      const { createToken } = await import('../registry/tokens.js');
      await createToken(io, name, options);
    });
}

function registerList(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('list')))
    .summary('List your tokens, or all (admin).')
    .description('List your tokens, or all as an administrator, without their secrets.')
    .addHelpText('after', '\nExamples:\n  krmhub token list\n  krmhub token list -o json')
    .action(async (options: TokenOptions) => {
      const { listTokens } = await import('../registry/tokens.js');
      await listTokens(io, options);
    });
}

function registerRevoke(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('revoke')))
    .description('Revoke one of your tokens immediately, or any (admin).')
    .argument('<id>', 'Name, or ID from `krmhub token list`, of which 4 characters are enough.')
    .addHelpText('after', '\nExamples:\n  krmhub token revoke ci\n  krmhub token revoke 3f2a91c0')
    .action(async (id: string, options: TokenOptions) => {
      const { revokeToken } = await import('../registry/tokens.js');
      await revokeToken(io, id, options);
    });
}

function registerReportLeak(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('report-leak')))
    .summary('Revoke a leaked token.')
    .description('Revoke a leaked token from stdin or a prompt. No other token is required.')
    .addHelpText('after', '\nExamples:\n  krmhub token report-leak < leaked.token')
    .action(async (options: TokenOptions) => {
      const { reportLeak } = await import('../registry/tokens.js');
      await reportLeak(io, options);
    });
}

function collectScopes(value: string, previous: TokenScope[] | undefined): TokenScope[] {
  const scopes = collectList(value, previous);
  if (scopes.every(isTokenScope)) return scopes;
  throw new InvalidArgumentError(`Use one of: ${TOKEN_SCOPES.join(', ')}.`);
}

function parseLifetime(value: string): number {
  const days = parseDays(value);
  if (days === undefined || days < 1 || days > MAX_DAYS) {
    throw new InvalidArgumentError(
      `Use days, weeks, or years, for example 90d or 1y. The maximum is ${MAX_DAYS}d.`,
    );
  }
  return days;
}
