import type { FileFormat } from '@krmhub/functions/fn';
import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import { formatOption } from './fn-options.js';

export function registerFnSink(parent: Command, io: Io): void {
  parent
    .command('sink')
    .summary('Write resources from stdin to a folder.')
    .description('Write a ResourceList, or YAML documents, from stdin to a folder.')
    .argument('<dir>', 'Folder.')
    .addOption(formatOption())
    .addHelpText(
      'after',
      `
In a folder that exists, files that the input names are edited, and then have
its resources only. Other files stay. Files that are new are written as kpt
does: their old text is not known. With --format kpt, the folder must be new.

Examples:
  krmhub fn source app | krmhub fn eval - --exec ./fn.sh | krmhub fn sink out`,
    )
    .action(async (folder: string, { format }: { format: FileFormat }) => {
      const { withKptErrors } = await import('../../fn/print-error.js');
      await withKptErrors(io, 'error', async () => {
        const { sinkPackage } = await import('../../fn/sink-package.js');
        await sinkPackage(io, folder, { format });
      });
    });
}
