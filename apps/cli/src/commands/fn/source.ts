import { defined } from '@krmhub/schema/defined';
import { type Command, Option } from 'commander';
import type { Io } from '../../io/io.js';
import { withSkippedFiles } from './fn-options.js';

interface SourceOptions {
  fnConfig?: string;
  output: 'stdout' | 'unwrap';
  skipUnreadable?: boolean;
}

export function registerFnSource(parent: Command, io: Io): void {
  withSkippedFiles(parent.command('source'))
    .summary('Write the resources of a folder to stdout.')
    .description('Write the resources of a folder to stdout, as input of a function.')
    .argument('[dir]', 'Folder.', '.')
    .option('--fn-config <file>', 'File of the functionConfig.')
    .addOption(
      new Option('-o, --output <format>', 'stdout for a ResourceList, or unwrap for YAML documents.')
        .choices(['stdout', 'unwrap'])
        .default('stdout'),
    )
    .addHelpText(
      'after',
      `
Examples:
  krmhub fn source app
  krmhub fn source app | krmhub fn eval - --exec ./fn.sh | krmhub fn sink out`,
    )
    .action(async (folder: string, options: SourceOptions) => {
      const { withKptErrors } = await import('../../fn/print-error.js');
      const { fnConfig, output, skipUnreadable = false } = options;
      await withKptErrors(io, 'error', async () => {
        const { sourcePackage } = await import('../../fn/source-package.js');
        await sourcePackage(io, folder, {
          isUnwrapped: output === 'unwrap',
          skipsUnreadable: skipUnreadable,
          ...defined({ config: fnConfig }),
        });
      });
    });
}
