import { access } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { generateKeys } from '@krmhub/signing';
import { writeFileAtomically } from '../files/write-file.js';
import { type Io, write } from '../io/io.js';
import { printLine } from '../io/print.js';
import { visible } from '../io/text.js';
import { newKeyPassword } from './key-password.js';

export interface KeygenOptions {
  out: string;
  overwrite?: boolean;
}

/** Writes a pair of keys into two files, of which the private one is encrypted and for its owner only. */
export async function generateKeyFiles(io: Io, options: KeygenOptions): Promise<void> {
  const overwrite = options.overwrite === true;
  const [privateFile, publicFile] = [`${options.out}.key`, `${options.out}.pub`];
  const at = (name: string) => path.resolve(io.cwd, name);
  if (!overwrite) {
    // Before anybody types a password; writing looks again.
    for (const name of [privateFile, publicFile]) {
      if (await isThere(at(name))) throw thereAlready(name);
    }
  }
  const { privateKey, publicKey } = await generateKeys(await newKeyPassword(io));
  await writeFileAtomically(at(privateFile), privateKey, { overwrite, mode: 0o600 });
  await writeFileAtomically(at(publicFile), publicKey.pem, { overwrite });
  await printLine(io, visible(`Wrote ${privateFile}: keep it and its password to yourself.`));
  await printLine(io, visible(`Wrote ${publicFile}: give it to whoever verifies what you sign.`));
  await write(io.stdout, `${publicKey.fingerprint}\n`);
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function thereAlready(name: string): KrmhubError {
  return new KrmhubError('conflict', `${name} is there already, and a key that is lost is lost for ever`, {
    hint: 'Name another place with --out, or say --overwrite.',
  });
}
