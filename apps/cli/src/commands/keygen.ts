import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { KeygenOptions } from '../signatures/generate-key-files.js';
import { withOutput } from './options.js';

export function registerKeygen(program: Command, io: Io): void {
  withOutput(program.command('keygen'))
    .summary('Generate a key pair for signing.')
    .description('Generate a key pair for signing, in the format of cosign.')
    .option('--out <prefix>', 'Write PREFIX.key and PREFIX.pub.', 'krmhub')
    .option('--overwrite', 'Replace existing keys. Existing signatures still require the old key.')
    .addHelpText(
      'after',
      `
The command encrypts the private key with the password in KRMHUB_KEY_PASSWORD or
COSIGN_PASSWORD. If neither is set, it prompts for a password. It prints the
fingerprint of the public key on stdout.

Examples:
  krmhub keygen
  krmhub keygen --out release`,
    )
    .action(async (options: KeygenOptions) => {
      const { generateKeyFiles } = await import('../signatures/generate-key-files.js');
      await generateKeyFiles(io, options);
    });
}
