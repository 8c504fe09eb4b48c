import type { Command } from 'commander';
import type { Io } from '../../io/io.js';

export function registerFnSink(parent: Command, io: Io): void {
  parent
    .command('sink')
    .summary('Write resources from stdin to a folder.')
    .description('Write a ResourceList, or YAML documents, from stdin to a new folder.')
    .argument('<dir>', 'Folder, which must not exist.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub fn source app | krmhub fn eval - --exec ./fn.sh | krmhub fn sink out`,
    )
    .action(async (folder: string) => {
      const { withKptErrors } = await import('../../fn/print-error.js');
      await withKptErrors(io, 'error', async () => {
        const { sinkPackage } = await import('../../fn/sink-package.js');
        await sinkPackage(io, folder);
      });
    });
}
