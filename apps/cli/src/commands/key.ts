import path from 'node:path';
import type { ListedKey } from '@krmhub/registry/operate';
import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printTable, say } from '../io/print.js';
import { visible } from '../io/text.js';
import { withOutput } from './options.js';

export function registerKey(program: Command, io: Io): void {
  const key = program
    .command('key')
    .description("Look at and change the keys by which a registry signs its catalogs' snapshots.")
    .addHelpText('after', '\nExamples:\n  krmhub key list\n  krmhub key rotate --from 2030-01-02');
  registerList(key, io);
  registerRotate(key, io);
}

function registerList(parent: Command, io: Io): void {
  withOutput(parent.command('list'))
    .description('List the keys, newest first, without their secrets.')
    .option('--data <folder>', 'Data folder of the registry; KRMHUB_DATA, else ./data.')
    .addHelpText(
      'after',
      `
The fingerprint is what consumers compare before they pin a key; -o json has
the public keys too.

Examples:
  krmhub key list
  krmhub key list --data /var/lib/krmhub -o json`,
    )
    .action(async (options: { data?: string; output: OutputFormat }) => {
      const { listRegistryKeys } = await import('@krmhub/registry/operate');
      const keys = await listRegistryKeys(await dataFolder(io, options.data), io.now());
      await printData(io, options.output, { keys }, () => printKeys(io, keys));
    });
}

function registerRotate(parent: Command, io: Io): void {
  withOutput(parent.command('rotate'))
    .description('Make the next key of a registry, which may be serving.')
    .option('--data <folder>', 'Data folder of the registry; KRMHUB_DATA, else ./data.')
    .option('--from <time>', 'When it begins to sign, such as 2030-01-02; at once by default.')
    .addHelpText(
      'after',
      `
The key is announced within a minute, and from its time on the newest snapshot
of every catalog is signed by it. Consumers refuse a key that they have not
pinned: give them the time to do so. Keys before it stay in the list.

Examples:
  krmhub key rotate --from 2030-01-02
  krmhub key rotate --data /var/lib/krmhub --from 2030-01-02T12:00:00Z
  krmhub key rotate`,
    )
    .action(async (options: { data?: string; from?: string; output: OutputFormat }) => {
      const from = options.from === undefined ? undefined : timeOf(options.from);
      const { rotateRegistryKey } = await import('@krmhub/registry/operate');
      const now = io.now();
      const { keys, made } = await rotateRegistryKey(await dataFolder(io, options.data), {
        now,
        ...(from === undefined ? {} : { from }),
      });
      await printData(io, options.output, { keys }, () => printKeys(io, keys));
      await say(io, `Made the key ${made.fingerprint}, which signs from ${made.validFrom} on.`);
      await say(io, 'Consumers pin its public half; `krmhub key list -o json` has it.');
    });
}

async function dataFolder(io: Io, data: string | undefined): Promise<string> {
  const { loadConfig } = await import('@krmhub/registry/operate');
  const config = await loadConfig(io.env, data === undefined ? {} : { data }, io.cwd);
  return path.resolve(io.cwd, config.dataFolder);
}

function timeOf(text: string): Date {
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? new Date(text)
    : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time;
  throw new KrmhubError('usage', `--from: ${JSON.stringify(visible(text))} is no time`, {
    hint: 'Give a day such as 2030-01-02, in UTC, or a time such as 2030-01-02T12:00:00Z.',
  });
}

async function printKeys(io: Io, keys: readonly ListedKey[]): Promise<void> {
  const cells = ({ fingerprint, state, validFrom, validUntil }: ListedKey) => [
    state,
    validFrom,
    validUntil ?? '',
    fingerprint,
  ];
  await printTable(
    io,
    [{ header: 'STATE' }, { header: 'FROM' }, { header: 'UNTIL' }, { header: 'FINGERPRINT' }],
    keys,
    { terminal: cells, pipe: cells },
  );
}
