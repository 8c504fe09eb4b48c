import type { RegistryClient } from '@krmhub/api/client';
import type { UserDetail, UserReport } from '@krmhub/api/model';
import { userPages } from '@krmhub/api/read-pages';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { relativeTime } from '../io/time.js';
import { connect } from './connection.js';

export interface UserOptions {
  registry?: string;
  output: OutputFormat;
}

export async function listUsers(io: Io, text: string | undefined, options: UserOptions): Promise<void> {
  const users = await findUsers(await connect(io, options.registry), text);
  await printData(io, options.output, { users }, () => printUsers(io, users));
}

export async function showUser(io: Io, wanted: string, options: UserOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const user = await client.user(await findUser(client, wanted));
  await printData(io, options.output, user, () => write(io.stdout, userText(user)));
}

/** Suspends a user, and says what ended. */
export async function suspendUser(io: Io, wanted: string, options: UserOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const result = await client.suspendUser(await findUser(client, wanted));
  await printData(io, options.output, result, async () => undefined);
  const { outcome, user, ended } = result;
  if (outcome === 'unchanged') {
    return printLine(io, escapeControls(`unchanged: ${label(user)} is already suspended`));
  }
  await printLine(io, escapeControls(`suspended ${label(user)}`));
  await printLine(
    io,
    `${plural(ended.sessions, 'session')} ended; ${plural(ended.tokens, 'personal token')} refused from now on`,
  );
}

export async function restoreUser(io: Io, wanted: string, options: UserOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const result = await client.restoreUser(await findUser(client, wanted));
  await printData(io, options.output, result, async () => undefined);
  const { outcome, user, tokens, problem } = result;
  const text =
    outcome === 'unchanged'
      ? `unchanged: ${label(user)} is not suspended`
      : `restored ${label(user)}: ${plural(tokens, 'personal token')} accepted again`;
  await printLine(io, escapeControls(text));
  if (problem !== undefined) await printWarning(io, escapeControls(problem));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns the ID of the one user with this ID, e-mail address, or name. */
async function findUser(client: RegistryClient, wanted: string): Promise<string> {
  if (UUID.test(wanted)) return wanted.toLowerCase();
  const named = wanted.toLowerCase();
  const isWanted = ({ name, email = '' }: UserDetail) =>
    [name, email].some((text) => text.toLowerCase() === named);
  const found = (await findUsers(client, wanted)).filter(isWanted);
  if (found.length === 1) return found[0]!.id;
  if (found.length === 0) {
    throw new KrmhubError('not-found', `user ${JSON.stringify(wanted)} not found`, {
      hint: 'Find the user: krmhub user list TEXT',
    });
  }
  throw new KrmhubError('usage', `${found.length} users have the name or address ${JSON.stringify(wanted)}`, {
    hint: `Use one of the IDs: ${found.map((user) => `${user.id} (${label(user)})`).join(', ')}`,
  });
}

async function findUsers(client: RegistryClient, text: string | undefined): Promise<UserDetail[]> {
  const users: UserDetail[] = [];
  for await (const page of userPages(client, text)) users.push(...page.users);
  return users;
}

async function printUsers(io: Io, users: readonly UserDetail[]): Promise<void> {
  const now = io.now();
  const columns = [
    { header: 'NAME', min: 8 },
    { header: 'E-MAIL', min: 8 },
    { header: 'TEAMS', min: 8 },
    { header: 'SIGNED IN' },
    { header: 'STATE' },
    { header: 'ID', min: 36 },
  ];
  await printTable(io, columns, users, {
    terminal: (user) => [
      ...[user.name, user.email ?? '-', user.teams.join(',') || '-'],
      user.signedInAt === undefined ? 'never' : relativeTime(user.signedInAt, now),
      user.suspendedAt === undefined ? 'active' : 'suspended',
      user.id,
    ],
    pipe: (user) => [
      ...[user.id, user.name, user.email ?? '-', user.teams.join(',') || '-', user.signedInAt ?? 'never'],
      user.suspendedAt === undefined ? 'active' : `suspended ${user.suspendedAt} by ${user.suspendedBy}`,
      ...[user.issuer, user.subject],
    ],
  });
}

function userText(user: UserReport): string {
  const list = (names: readonly string[]) => (names.length === 0 ? '-' : names.join(', '));
  const state =
    user.suspendedAt === undefined ? 'active' : `suspended ${user.suspendedAt} by ${user.suspendedBy}`;
  const rows = [
    ['id', user.id],
    ['name', user.name],
    ['e-mail', user.email ?? '-'],
    ['provider', user.issuer],
    ['subject', user.subject],
    ['state', state],
    ['groups', list(user.groups)],
    ['teams', list(user.teams)],
    ['signed in', user.signedInAt ?? 'never'],
    ['confirmed', user.confirmedAt],
    ['sessions', String(user.sessions)],
    ['tokens', String(user.tokens)],
  ];
  return rows.map(([name = '', value = '']) => `${`${name}:`.padEnd(11)}${escapeControls(value)}\n`).join('');
}

const label = ({ name, email }: UserDetail) => (email === undefined ? name : `${name} (${email})`);
