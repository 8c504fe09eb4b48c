import { access } from 'node:fs/promises';
import path from 'node:path';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { generateKeys } from '@krmhub/signing';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { newKeyPassword } from './key-password.js';

export interface KeygenOptions {
  out: string;
  overwrite?: boolean;
  output: OutputFormat;
}

/** Generates a key pair and writes two files. The private key is encrypted and readable only by its owner. */
export async function generateKeyFiles(io: Io, options: KeygenOptions): Promise<void> {
  const overwrite = options.overwrite === true;
  const [privateFile, publicFile] = [`${options.out}.key`, `${options.out}.pub`];
  const at = (name: string) => path.resolve(io.cwd, name);
  if (!overwrite) {
    // Fails before the user types a password; the write checks again.
    for (const name of [privateFile, publicFile]) {
      if (await fileExists(at(name))) throw existsError(name);
    }
  }
  const { privateKey, publicKey } = await generateKeys(await newKeyPassword(io));
  await writeFileAtomically(at(privateFile), privateKey, { overwrite, mode: 0o600 });
  await writeFileAtomically(at(publicFile), publicKey.pem, { overwrite });
  await printLine(io, escapeControls(`wrote ${privateFile}; do not share it or its password`));
  await printLine(io, escapeControls(`wrote ${publicFile}; give it to users who verify your signatures`));
  const { fingerprint } = publicKey;
  await printData(io, options.output, { privateFile, publicFile, fingerprint }, () =>
    write(io.stdout, `${fingerprint}\n`),
  );
}

async function fileExists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function existsError(name: string): KrmhubError {
  return new KrmhubError('conflict', `${name} already exists`, {
    hint: 'Use another file, for example: krmhub keygen --out release. To replace the key, use --overwrite.',
  });
}
