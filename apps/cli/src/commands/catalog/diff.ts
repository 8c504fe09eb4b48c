import type { Command } from 'commander';
import type { DiffOptions } from '../../catalogs/diff/diff-catalogs.js';
import type { Io } from '../../io/io.js';
import { collectList, withOutput, withRegistry, withSnapshotLimits } from '../options.js';

export function registerCatalogDiff(parent: Command, io: Io): void {
  withOutput(withSnapshotLimits(withRegistry(parent.command('diff'))))
    .summary('Compare two snapshots or files.')
    .description('Show what changed between two snapshots of a catalog, or between two files.')
    .argument('<catalog>', 'Name of the catalog, or the older file.')
    .argument('[from]', 'Serial or digest (sha256:…) of the older snapshot, or the newer file.')
    .argument('[to]', 'Serial or digest (sha256:…) of the newer snapshot. Default: the newest.')
    .option('--only <class>', 'Show only these classes of changes, for example network-needed.', collectList)
    .option('--breaking', 'Show only breaking changes.')
    .addHelpText(
      'after',
      `
Without snapshots, the command compares the two newest snapshots. Files contain
a catalog or definitions. A file name contains a / or ends in .yaml, .yml, or
.json. oci://… artifacts and - for stdin also work. Files do not contain the
release, source, or signer of an entry, so the command cannot compare these. To
list all classes, use an unknown class.

Exit codes: 0 no breaking changes listed, 1 breaking changes listed.

Examples:
  krmhub catalog diff default
  krmhub catalog diff default 1
  krmhub catalog diff default 1 2 -o json
  krmhub catalog diff default --only network-needed,storage-needed
  krmhub catalog diff old.yaml new.yaml --breaking`,
    )
    .action(
      async (first: string, second: string | undefined, third: string | undefined, options: DiffOptions) => {
        const { diffCatalogs } = await import('../../catalogs/diff/diff-catalogs.js');
        await diffCatalogs(io, [first, second, third], options);
      },
    );
}
