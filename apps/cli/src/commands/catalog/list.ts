import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printTable } from '../../io/print.js';
import { relativeTime } from '../../io/time.js';
import { connect } from '../../registry/connection.js';
import { withOutput, withRegistry } from '../options.js';

export function registerCatalogList(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('list')))
    .description('List the catalogs of a registry with their newest snapshots.')
    .addHelpText('after', '\nExamples:\n  krmhub catalog list\n  krmhub catalog list -o json')
    .action(async (options: { registry?: string; output: OutputFormat }) => {
      const list = await (await connect(io, options.registry)).catalogs();
      await printData(io, options.output, list, () => {
        const now = io.now();
        const columns = [
          { header: 'NAME', min: 12 },
          { header: 'SNAPSHOT' },
          { header: 'FUNCTIONS' },
          { header: 'CUT' },
          { header: 'DIGEST', min: 20 },
        ];
        return printTable(io, columns, list.catalogs, {
          terminal: ({ name, newest }) =>
            newest === undefined
              ? [name, 'none yet', '', '', '']
              : [
                  name,
                  String(newest.serial),
                  String(newest.functions),
                  relativeTime(newest.createdAt, now),
                  newest.digest,
                ],
          pipe: ({ name, newest }) =>
            newest === undefined
              ? [name, '', '', '', '']
              : [name, String(newest.serial), String(newest.functions), newest.createdAt, newest.digest],
        });
      });
    });
}
