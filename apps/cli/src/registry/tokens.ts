import type { Token } from '@krmhub/api/model';
import type { TokenScope } from '@krmhub/api/token-scopes';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { readSecret } from '../io/read-secret.js';
import { readStdin } from '../io/read-stdin.js';
import { connect } from './connection.js';
import { checkToken, MAX_TOKEN_LENGTH } from './credentials.js';
import { describeToken, printTokens } from './print-tokens.js';

export interface TokenOptions {
  registry?: string;
  output: OutputFormat;
}

export interface CreateTokenOptions extends TokenOptions {
  scope: TokenScope[];
  group?: string[];
  repository?: string[];
  team?: string;
  /** Create a token of a program as a signed-in user. */
  robot?: boolean;
  /** Days. Absent for the default of the registry. */
  expires?: number;
}

/** Fewer characters could be a typo, and a token cannot be restored after it is revoked. */
const MIN_ID_LENGTH = 4;

/** Creates a token and prints its secret on stdout. */
export async function createToken(io: Io, name: string, options: CreateTokenOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const created = await client.createToken({
    name,
    scopes: options.scope,
    ...defined({
      expiresInDays: options.expires,
      groups: options.group,
      repositories: options.repository,
      team: options.team,
      robot: options.robot,
    }),
  });
  const kind = created.user === undefined ? 'token' : 'personal token';
  await printData(io, options.output, created, () => write(io.stdout, `${escapeControls(created.token)}\n`));
  await printLine(
    io,
    escapeControls(`created ${kind} ${created.name} (${created.id}): ${describeToken(created)}`),
  );
  await printLine(io, 'store the secret now: krmhub cannot show it again');
}

export async function listTokens(io: Io, options: TokenOptions): Promise<void> {
  const list = await (await connect(io, options.registry)).tokens();
  await printData(io, options.output, list, () => printTokens(io, list.tokens));
}

export async function revokeToken(io: Io, id: string, options: TokenOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const { tokens } = await client.tokens();
  const token = findToken(tokens, id);
  const revoked = await client.revokeToken(token.id);
  await printData(io, options.output, revoked, async () => undefined);
  const name = `token ${revoked.name} (${revoked.id})`;
  await printLine(
    io,
    escapeControls(
      token.revokedAt === undefined ? `revoked ${name}` : `unchanged: ${name} is already revoked`,
    ),
  );
}

/** Reads a leaked token and has the registry revoke it. */
export async function reportLeak(io: Io, options: TokenOptions): Promise<void> {
  const token = await readLeakedToken(io);
  const client = await connect(io, options.registry);
  await client.reportLeak(token);
  // The registry does not say whether it knows the token.
  await printLine(io, `reported to ${client.url}: if the token was valid there, it is now revoked`);
  await printData(io, options.output, { registry: client.url, outcome: 'reported' }, async () => undefined);
}

async function readLeakedToken(io: Io): Promise<string> {
  if (io.stdin.isTTY === true) return checkToken(await readSecret(io, 'Leaked token: '));
  return checkToken(new TextDecoder().decode(await readStdin(io, MAX_TOKEN_LENGTH)));
}

/** Returns the one token with this name, or whose ID starts with `id`; tokens that are not revoked take precedence. */
export function findToken(tokens: readonly Token[], id: string): Token {
  const hint = 'List the IDs: krmhub token list';
  const exact = tokens.find((token) => token.id === id);
  if (exact !== undefined) return exact;
  const named = tokens.filter(({ name, revokedAt }) => name === id && revokedAt === undefined);
  if (named.length === 1) return named[0]!;
  if (named.length > 1) {
    const ids = named.map((token) => token.id).join(', ');
    throw new KrmhubError('usage', `${named.length} tokens have the name ${JSON.stringify(id)}`, {
      hint: `Use one of the IDs: ${ids}`,
    });
  }
  if (id.length < MIN_ID_LENGTH) {
    throw new KrmhubError(
      'usage',
      `token ID ${JSON.stringify(id)} is too short: it must have at least ${MIN_ID_LENGTH} characters`,
      { hint },
    );
  }
  const matching = tokens.filter((token) => token.id.startsWith(id.toLowerCase()));
  const usable = matching.filter((token) => token.revokedAt === undefined);
  const candidates = usable.length > 0 ? usable : matching;
  if (candidates.length === 1) return candidates[0]!;
  if (candidates.length === 0) {
    throw new KrmhubError('not-found', `token ${JSON.stringify(id)} not found`, { hint });
  }
  const names = candidates.map((token) => `${token.id} (${token.name})`).join(', ');
  throw new KrmhubError('usage', `token ID ${JSON.stringify(id)} is ambiguous: it matches ${names}`, {
    hint: 'Use more characters of the ID.',
  });
}
