import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import { type FnCommandOptions, readFnSettings, withFunctionRuns } from './fn-options.js';

export function registerFnRender(parent: Command, io: Io): void {
  withFunctionRuns(parent.command('render'))
    .summary('Run the pipelines of a package.')
    .description('Run the pipelines of a kpt package and its subpackages, subpackages first.')
    .argument('[dir]', 'Folder of the package.', '.')
    .addHelpText(
      'after',
      `
An entry of a pipeline without image and exec is a function of a catalog: the
kind in its configPath names it. krmhub searches the catalogs of the options, of
the annotation krmhub.dev/catalogs in the Kptfile, or of krmhub.lock. For a
folder with the name stdout, unwrap, or json, write -o ./json.

The command writes all files at the end, or none. If a function fails, it writes
only the status in the Kptfile of the folder, and the exit code is 1. With the
annotation kpt.dev/save-on-render-failure: "true", it also writes what was
rendered before.

Examples:
  krmhub fn render app
  krmhub fn render app --dry-run
  krmhub fn render app --allow-package-exec --results-dir results
  krmhub fn render app --trusted-catalog https://krm.example.com/catalogs/default
  krmhub fn render app -o unwrap | kubectl apply -f -`,
    )
    .action(async (folder: string, options: FnCommandOptions) => {
      const { withKptErrors } = await import('../../fn/print-error.js');
      await withKptErrors(io, 'Error', async () => {
        const { renderPackage } = await import('../../fn/render-package.js');
        await renderPackage(io, folder, await readFnSettings(io, options));
      });
    });
}
