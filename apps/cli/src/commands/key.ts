import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { KeyOptions } from '../operate/registry-keys.js';
import { withDataFolder, withOutput } from './options.js';

export function registerKey(program: Command, io: Io): void {
  const key = program
    .command('key')
    .summary('Manage the keys of a registry.')
    .description('List and rotate the keys that sign catalog snapshots.')
    .addHelpText('after', '\nExamples:\n  krmhub key list\n  krmhub key rotate --valid-from 2030-01-02');
  registerList(key, io);
  registerRotate(key, io);
}

function withKeys(command: Command): Command {
  return command.option(
    '--keys <folder>',
    'Folder of the keys. Default: KRMHUB_KEYS, else keys in the data folder.',
  );
}

function registerList(parent: Command, io: Io): void {
  withOutput(withKeys(withDataFolder(parent.command('list'))))
    .summary('List the signing keys.')
    .description('List the signing keys, newest first, without the private keys.')
    .addHelpText(
      'after',
      `
Users compare the fingerprint before they pin a key. To get the public keys, use
-o json.

Examples:
  krmhub key list
  krmhub key list --data /var/lib/krmhub -o json`,
    )
    .action(async (options: KeyOptions) => {
      const { listKeys } = await import('../operate/registry-keys.js');
      await listKeys(io, options);
    });
}

function registerRotate(parent: Command, io: Io): void {
  withOutput(withKeys(withDataFolder(parent.command('rotate'))))
    .summary('Create the next signing key.')
    .description('Create the next signing key. The registry can keep serving.')
    .option('--valid-from <time>', 'When the key becomes valid, for example 2030-01-02. Default: now.')
    .addHelpText(
      'after',
      `
The registry publishes the key within a minute. From the time in --valid-from,
the key signs the newest snapshot of every catalog. Users must pin the key
before that time, because their commands reject keys that are not pinned.
Earlier keys stay in the list.

Examples:
  krmhub key rotate --valid-from 2030-01-02
  krmhub key rotate --data /var/lib/krmhub --valid-from 2030-01-02T12:00:00Z
  krmhub key rotate`,
    )
    .action(async (options: KeyOptions & { validFrom?: string }) => {
      const { rotateKey } = await import('../operate/registry-keys.js');
      await rotateKey(io, options);
    });
}
