import { defined } from '@krmhub/schema/defined';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import {
  type ImagePrefixOptions,
  type ResolutionOptions,
  readResolution,
  withImagePrefix,
  withOutput,
  withResolution,
} from './options.js';

interface ExplainCommandOptions extends ResolutionOptions, ImagePrefixOptions {
  all?: boolean;
  output: OutputFormat;
}

export function registerExplain(program: Command, io: Io): void {
  withOutput(withImagePrefix(withResolution(program.command('explain'))))
    .summary('Explain which functions a package runs.')
    .description(
      'List the functionConfigs of a package, the image or executable that runs for each, and the reason.',
    )
    .argument(
      '<path>',
      'Folder with a kustomization, Composition, or Kptfile, or a file with functionConfigs.',
    )
    .option('--all', 'In any other folder, also list documents whose kind is in a catalog.')
    .addHelpText(
      'after',
      `
The command does not run functions. It reads bases, components, and remote
bases. Each layer uses only its own catalogs, and those of --catalog and
--official. For an image with a tag, the command asks its registry for the
digest. It reports all problems. krmhub docs explain describes the output.

Exit codes: 0 if all functions are resolved, else the first that applies: 4 a
catalog or signer is not trusted, 3 a function is not found, 1 a file has a
problem, 5 the network or disk failed.

Examples:
  krmhub explain app --trusted-catalog https://krm.example.com/catalogs/default
  krmhub explain app -c default -o json
  krmhub explain app/set-labels.yaml -c default`,
    )
    .action(async (target: string, options: ExplainCommandOptions) => {
      const { explainPackage } = await import('../lock/explain-package.js');
      const { explainUpdates } = await import('../outdated/explain-updates.js');
      const { all = false, output, lock, frozen = false, imagePrefix } = options;
      await explainPackage(io, target, {
        ...(await readResolution(io, options)),
        all,
        output,
        frozen,
        explainUpdates,
        ...defined({ lockFile: lock, imagePrefix }),
      });
    });
}
