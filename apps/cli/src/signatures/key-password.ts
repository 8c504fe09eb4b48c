import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';
import { readSecret } from '../io/read-secret.js';

/** In order of precedence. */
const VARIABLES = ['KRMHUB_KEY_PASSWORD', 'COSIGN_PASSWORD'] as const;

/** Returns the password of a key file: from the environment, where it can be empty, else from a prompt. */
export async function keyPassword(io: Io, file: string): Promise<string> {
  return passwordFromEnvironment(io) ?? (await promptForPassword(io, `Password for ${file}: `));
}

/** Returns the password for a new key: from the environment, else from two prompts. */
export async function newKeyPassword(io: Io): Promise<string> {
  const given = passwordFromEnvironment(io);
  if (given === '') {
    await printWarning(io, 'the password is empty: everyone with access to the key file can sign with it');
  }
  if (given !== undefined) return given;
  const password = await promptForPassword(io, 'Password for the new key: ');
  if (password === '') {
    throw new KrmhubError('usage', 'cannot create the key: the password is empty', {
      hint: 'Enter a password. For an unprotected key, run: KRMHUB_KEY_PASSWORD= krmhub keygen',
    });
  }
  if ((await promptForPassword(io, 'Repeat the password: ')) !== password) {
    throw new KrmhubError('usage', 'cannot create the key: the two passwords differ', {
      hint: 'Run the command again: krmhub keygen',
    });
  }
  return password;
}

function passwordFromEnvironment({ env }: Io): string | undefined {
  const name = VARIABLES.find((variable) => env[variable] !== undefined);
  return name === undefined ? undefined : env[name];
}

async function promptForPassword(io: Io, prompt: string): Promise<string> {
  if (io.stdin.isTTY === true) return readSecret(io, prompt);
  throw new KrmhubError('usage', 'cannot prompt for the password of the key: stdin is not a terminal', {
    hint: 'Set KRMHUB_KEY_PASSWORD or COSIGN_PASSWORD, or run the command in a terminal.',
  });
}
