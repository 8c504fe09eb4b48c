import type { Identity } from '@krmhub/api/model';
import { isFirstToken } from '@krmhub/api/token-scopes';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printData, printLine } from '../io/print.js';
import { connect } from './connection.js';
import { savedLogin } from './credentials.js';
import type { RegistryOptions } from './login.js';
import { printTokens } from './print-tokens.js';
import { printOverrides } from './saved-logins.js';

/** Prints the token that commands use, whose it is, and what it can do. */
export async function printIdentity(io: Io, options: RegistryOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const token = await client.whoami();
  await printData(io, options.output, { registry: client.url, ...token }, () => printTokens(io, [token]));
  if (options.output !== 'table') return;
  if (io.stderr.isTTY === true) await printLine(io, `registry: ${client.url}`);
  const url = new URL(client.url);
  await printOverrides(io, { of: savedLogin(io, url) === undefined ? undefined : url });
  for (const line of rightsLines(token)) await printLine(io, escapeControls(line));
  if (isFirstToken(token)) {
    await printLine(
      io,
      [
        'this is the first administrator token, which nobody in particular owns. Replace it by one with your name:',
        '  krmhub token create NAME --scope admin > NAME.token',
        '  krmhub login < NAME.token',
        `  krmhub token revoke ${token.id}`,
      ].join('\n'),
    );
  }
}

/** Says who acts with the token, and what its teams may do within the limits of the token. */
function rightsLines({ user, team, teamRights, teams = [], ssoGroups = [] }: Identity): string[] {
  const bounding = teamRights === undefined ? teams : [{ team, ...teamRights }];
  const lines = bounding.flatMap(({ team: name, owns, grants }) => {
    if (owns.length + grants.length === 0) return `team ${name} gives this token no rights`;
    return [
      `team ${name}, within the limits of this token:`,
      ...(owns.length === 0 ? [] : [`  owns ${owns.join(', ')}`]),
      ...grants.map(({ may, in: where }) => {
        const [of, pattern] = Object.entries(where)[0] ?? ['', ''];
        return `  may ${may.join(', ')} in ${of} ${pattern}`;
      }),
    ];
  });
  if (user === undefined) return lines;
  const where = user.issuer.replace(/^https?:\/\//, '');
  const groups = ssoGroups.length === 0 ? '' : `, with the groups ${ssoGroups.join(', ')} there`;
  return [
    `user: ${user.name} (${user.subject} at ${where})${groups}`,
    ...(teams.length === 0
      ? ['the user is in no team, so the token can read what is internal, and change nothing']
      : []),
    ...lines,
  ];
}
