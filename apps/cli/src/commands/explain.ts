import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { type ResolutionOptions, readResolution, withOutput, withResolution } from './options.js';

interface ExplainCommandOptions extends ResolutionOptions {
  all?: boolean;
  output: OutputFormat;
}

export function registerExplain(program: Command, io: Io): void {
  withOutput(withResolution(program.command('explain')))
    .summary('Explain which functions a package runs.')
    .description(
      'List the functionConfigs of a package, what exactly runs for each, and why, or why nothing does.',
    )
    .argument(
      '<path>',
      'Folder with a kustomization, Composition or Kptfile, or a file with functionConfigs.',
    )
    .option('--all', 'In a folder without these, also list documents that a catalog has a function for.')
    .addHelpText(
      'after',
      `
The command runs nothing. It reads bases, components and remote bases. Each
layer sees only the catalogs that it names itself, and those of --catalog and
--official. Every problem is reported, not only the first. docs/explain.md
explains the output.

Exit codes: 0 everything is resolved, else the first of these that occurs: 4 a
catalog or signer is not trusted, 3 a function is not found, 1 a file has a
problem, 5 the network or disk failed.

Examples:
  krmhub explain app --trusted-catalog https://krm.example.com/catalogs/default
  krmhub explain app -c default -o json
  krmhub explain app/set-labels.yaml -c default`,
    )
    .action(async (target: string, options: ExplainCommandOptions) => {
      const { explainPackage } = await import('../lock/explain-package.js');
      const { all = false, output, lock, frozen = false } = options;
      await explainPackage(io, target, {
        ...readResolution(options),
        all,
        output,
        frozen,
        ...(lock === undefined ? {} : { lockFile: lock }),
      });
    });
}
