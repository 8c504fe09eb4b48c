import { isFirstToken } from '@krmhub/api/token-scopes';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printData, printLine } from '../io/print.js';
import { connect } from './connection.js';
import { savedLogin } from './credentials.js';
import type { RegistryOptions } from './login.js';
import { printTokens } from './print-tokens.js';
import { printOverrides } from './saved-logins.js';

/** Prints the token that commands use, and what it can do. */
export async function printIdentity(io: Io, options: RegistryOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const token = await client.whoami();
  await printData(io, options.output, { registry: client.url, ...token }, () => printTokens(io, [token]));
  if (options.output !== 'table') return;
  if (io.stderr.isTTY === true) await printLine(io, `registry: ${client.url}`);
  const url = new URL(client.url);
  await printOverrides(io, { of: savedLogin(io, url) === undefined ? undefined : url });
  const { team, teamRights } = token;
  if (teamRights !== undefined) {
    const { owns, grants } = teamRights;
    const groups = owns.length === 0 ? 'no group' : owns.join(', ');
    await printLine(io, escapeControls(`team ${team} owns ${groups}`));
    for (const { may, in: where } of grants) {
      const [of, pattern] = Object.entries(where)[0] ?? ['', ''];
      await printLine(io, escapeControls(`team ${team} may ${may.join(', ')} in ${of} ${pattern}`));
    }
  }
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
