import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { printLine, printWarning } from '../io/print.js';
import { readSecret } from '../io/read-secret.js';

/** Ours first: who uses both programs may have other passwords for other keys. */
const VARIABLES = ['KRMHUB_KEY_PASSWORD', 'COSIGN_PASSWORD'] as const;

/** The password of a key file: from the environment, where it may be empty, else asked for at a terminal. */
export async function keyPassword(io: Io, file: string): Promise<string> {
  return fromEnvironment(io) ?? (await askedFor(io, `Password of ${file}: `));
}

/** A password for a new key, which is typed twice. */
export async function newKeyPassword(io: Io): Promise<string> {
  const given = fromEnvironment(io);
  if (given === '') {
    await printWarning(io, 'the password is empty: whoever can read the key file can sign with it');
  }
  if (given !== undefined) return given;
  const password = await askedFor(io, 'Password for the new key: ');
  if (password === '') {
    throw new KrmhubError('usage', 'the password is empty, and nothing was written', {
      hint: 'For a key without protection set KRMHUB_KEY_PASSWORD to nothing: KRMHUB_KEY_PASSWORD= krmhub keygen',
    });
  }
  if ((await askedFor(io, 'The same once more: ')) !== password) {
    throw new KrmhubError('usage', 'the two passwords differ, and nothing was written');
  }
  return password;
}

function fromEnvironment({ env }: Io): string | undefined {
  const name = VARIABLES.find((variable) => env[variable] !== undefined);
  return name === undefined ? undefined : env[name];
}

async function askedFor(io: Io, prompt: string): Promise<string> {
  if (io.stdin.isTTY === true) return readSecret(io, prompt);
  await printLine(io, 'There is no terminal to ask for the password at.');
  throw new KrmhubError('usage', 'there is no password for the key', {
    hint: 'Set KRMHUB_KEY_PASSWORD (or COSIGN_PASSWORD), or run the command at a terminal.',
  });
}
