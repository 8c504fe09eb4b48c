import type { Token, TokenScope } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData, say } from '../io/print.js';
import { visible } from '../io/text.js';
import { parseDays } from '../io/time.js';
import { connect } from '../registry/connection.js';
import { collectList, withOutput, withRegistry } from './options.js';

// The model itself loads a schema library.
const SCOPES: readonly TokenScope[] = ['publish', 'yank', 'push', 'admin'];
/** Fewer could be a slip of the finger, and what is revoked stays so. */
const MIN_ID_LENGTH = 4;
const MAX_DAYS = 3_650;
const DEFAULT_DAYS = 90;

export function registerToken(program: Command, io: Io): void {
  const token = program.command('token').description("Create, list and revoke a registry's tokens.");
  registerCreate(token, io);
  registerList(token, io);
  registerRevoke(token, io);
  registerReportLeak(token, io);
}

interface CreateOptions {
  scope: TokenScope[];
  group?: string[];
  repository?: string[];
  expires: number;
  registry?: string;
  output: OutputFormat;
}

function registerCreate(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('create')))
    .description('Create a token. The secret is printed on stdout, once.')
    .argument('<name>', 'What the token is for; shown where it has published.')
    .addOption(
      new Option('--scope <scope>', 'What it may do: publish, yank, push, admin. Repeat for more.')
        .argParser(collectScopes)
        .makeOptionMandatory(),
    )
    .option('--group <glob>', 'Groups it may touch, such as *.example.com; all by default.', collectList)
    .option(
      '--repository <glob>',
      'Repositories it may push artifacts to, such as team/*; all by default.',
      collectList,
    )
    .addOption(
      new Option('--expires <time>', 'When it ends: 90d, 12w or 1y.')
        .argParser(days)
        .default(DEFAULT_DAYS, `${DEFAULT_DAYS}d`),
    )
    .addHelpText(
      'after',
      `
Examples:
  krmhub token create ci --scope publish --group example.com > ci.token
  krmhub token create ops --scope publish --scope yank --expires 1y
  krmhub token create builds --scope push --repository 'team/*' > builds.token`,
    )
    .action(async (name: string, options: CreateOptions) => {
      const client = await connect(io, options.registry);
      const created = await client.createToken({
        name,
        scopes: options.scope,
        expiresInDays: options.expires,
        ...(options.group === undefined ? {} : { groups: options.group }),
        ...(options.repository === undefined ? {} : { repositories: options.repository }),
      });
      await printData(io, options.output, created, () => write(io.stdout, `${visible(created.token)}\n`));
      const { describeToken } = await import('./token/describe.js');
      await say(io, visible(`Created ${created.name} (${created.id}): ${describeToken(created)}.`));
      await say(io, 'The secret cannot be shown again.');
    });
}

function registerList(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('list')))
    .description('List every token, without its secret.')
    .addHelpText('after', '\nExamples:\n  krmhub token list\n  krmhub token list -o json')
    .action(async (options: { registry?: string; output: OutputFormat }) => {
      const list = await (await connect(io, options.registry)).tokens();
      await printData(io, options.output, list, async () => {
        const { printTokens } = await import('./token/describe.js');
        await printTokens(io, list.tokens);
      });
    });
}

function registerRevoke(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('revoke')))
    .description('End a token now.')
    .argument('<id>', 'ID as `token list` shows it; its first 4 characters are enough.')
    .addHelpText('after', '\nExamples:\n  krmhub token revoke 3f2a91c0')
    .action(async (id: string, options: { registry?: string; output: OutputFormat }) => {
      const client = await connect(io, options.registry);
      const { tokens } = await client.tokens();
      const meant = tokenMeant(tokens, id);
      const revoked = await client.revokeToken(meant.id);
      await printData(io, options.output, revoked, async () => undefined);
      const name = `${revoked.name} (${revoked.id})`;
      await say(
        io,
        visible(meant.revokedAt === undefined ? `Revoked ${name}.` : `${name} was revoked already.`),
      );
    });
}

function registerReportLeak(parent: Command, io: Io): void {
  withRegistry(parent.command('report-leak'))
    .description('Revoke a token that leaked. It is read from stdin or asked for; no other token is needed.')
    .addHelpText('after', '\nExamples:\n  krmhub token report-leak < leaked.token')
    .action(async (options: { registry?: string }) => {
      const token = await leakedToken(io);
      const client = await connect(io, options.registry);
      await client.reportLeak(token);
      await say(io, `If ${client.url} knows this token, it is revoked now.`);
    });
}

async function leakedToken(io: Io): Promise<string> {
  const { checkToken, MAX_TOKEN_LENGTH } = await import('../registry/credentials.js');
  if (io.stdin.isTTY === true) {
    const { readSecret } = await import('../io/read-secret.js');
    return checkToken(await readSecret(io, 'The leaked token: '));
  }
  const { readStdin } = await import('../files/source-files.js');
  return checkToken(new TextDecoder().decode(await readStdin(io, MAX_TOKEN_LENGTH)));
}

/** The one token whose ID begins so; a token that is revoked already stands back. */
export function tokenMeant(tokens: readonly Token[], id: string): Token {
  const hint = 'See the IDs with `krmhub token list`.';
  const exact = tokens.find((token) => token.id === id);
  if (exact !== undefined) return exact;
  if (id.length < MIN_ID_LENGTH) {
    throw new KrmhubError('usage', `${JSON.stringify(id)} is too short for the ID of a token`, {
      hint: `Give at least ${MIN_ID_LENGTH} characters of it. ${hint}`,
    });
  }
  const matching = tokens.filter((token) => token.id.startsWith(id.toLowerCase()));
  const usable = matching.filter((token) => token.revokedAt === undefined);
  const meant = usable.length > 0 ? usable : matching;
  if (meant.length === 1) return meant[0]!;
  if (meant.length === 0) {
    throw new KrmhubError('not-found', `there is no token with the ID ${JSON.stringify(id)}`, { hint });
  }
  const names = meant.map((token) => `${token.id} (${token.name})`).join(', ');
  throw new KrmhubError('usage', `"${id}" is the beginning of more than one ID: ${names}`, { hint });
}

function collectScopes(value: string, previous: TokenScope[] | undefined): TokenScope[] {
  const scopes = collectList(value, previous);
  const wrong = scopes.filter((scope) => !SCOPES.some((known) => known === scope));
  if (wrong.length > 0) throw new InvalidArgumentError(`Scopes are ${SCOPES.join(', ')}.`);
  return scopes as TokenScope[];
}

function days(value: string): number {
  const parsed = parseDays(value);
  if (parsed === undefined || parsed < 1 || parsed > MAX_DAYS) {
    throw new InvalidArgumentError(`Give days, weeks or years, such as 90d or 1y; at most ${MAX_DAYS}d.`);
  }
  return parsed;
}
