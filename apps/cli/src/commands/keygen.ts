import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { KeygenOptions } from '../signatures/generate-key-files.js';

export function registerKeygen(program: Command, io: Io): void {
  program
    .command('keygen')
    .description('Make a pair of keys to sign with, in the format of cosign.')
    .option('--out <prefix>', 'The files are PREFIX.key and PREFIX.pub.', 'krmhub')
    .option('--overwrite', 'Replace keys that are there. What they signed stays signed by them.')
    .addHelpText(
      'after',
      `
The private key is encrypted by a password, which KRMHUB_KEY_PASSWORD or
COSIGN_PASSWORD holds, or which is asked for twice. The fingerprint of the
public key is printed.

Examples:
  krmhub keygen
  krmhub keygen --out release`,
    )
    .action(async (options: KeygenOptions) => {
      const { generateKeyFiles } = await import('../signatures/generate-key-files.js');
      await generateKeyFiles(io, options);
    });
}
