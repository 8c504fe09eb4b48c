import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printTable } from '../../io/print.js';
import { relativeTime } from '../../io/time.js';
import { connect } from '../../registry/connection.js';
import { count, withOutput, withRegistry } from '../options.js';
import { ofCatalog, withCatalogName } from './catalog-name.js';

/** What the registry gives at most in one answer. */
const MAX_SNAPSHOTS = 1_000;

export function registerCatalogHistory(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('history'))))
    .description('List the snapshots of a catalog, newest first.')
    .option('--limit <count>', `Snapshots to list, at most ${MAX_SNAPSHOTS}.`, count(MAX_SNAPSHOTS))
    .addHelpText(
      'after',
      '\nExamples:\n  krmhub catalog history default\n  krmhub catalog history default --limit 5 -o json',
    )
    .action(async (name: string, options: { limit?: number; registry?: string; output: OutputFormat }) => {
      const list = await ofCatalog((await connect(io, options.registry)).snapshots(name, options.limit));
      await printData(io, options.output, list, () => {
        const now = io.now();
        const noted = list.snapshots.some(({ withdrawn }) => withdrawn !== undefined);
        const note = ({ withdrawn }: (typeof list.snapshots)[number]) =>
          !noted ? [] : [withdrawn === undefined ? '' : `withdrawn: ${withdrawn.reason}`];
        const columns = [
          { header: 'SNAPSHOT' },
          { header: 'FUNCTIONS' },
          { header: 'CUT' },
          { header: 'DIGEST', min: 20 },
          ...(noted ? [{ header: 'NOTE' }] : []),
        ];
        return printTable(io, columns, list.snapshots, {
          terminal: (snapshot) => [
            String(snapshot.serial),
            String(snapshot.functions),
            relativeTime(snapshot.createdAt, now),
            snapshot.digest,
            ...note(snapshot),
          ],
          pipe: (snapshot) => [
            String(snapshot.serial),
            String(snapshot.functions),
            snapshot.createdAt,
            snapshot.digest,
            ...note(snapshot),
          ],
        });
      });
    });
}
