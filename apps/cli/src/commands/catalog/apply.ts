/**
 * Registers the subcommands of `krmhub catalog`: their arguments, options, and help.
 *
 * @module
 */

import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import type { OutputFormat } from '../../io/print.js';
import { withOutput, withRegistry } from '../options.js';

export function registerCatalogApply(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('apply')))
    .summary('Apply a recipe (admin).')
    .description('Create or update a catalog from a recipe, and wait for the snapshot (admin).')
    .argument('<recipe>', 'File with a CatalogRecipe, or - for stdin.')
    .addHelpText(
      'after',
      `
A key in requireSignature can be the path of a file in the folder of the recipe,
for example banana.pub. The command sends the public key in that file. It does
not read files outside that folder.

The registry syncs new sources before it builds the snapshot. A failed source
does not block the rest of the catalog. The registry retries it. If every source
failed, the command fails with exit code 5.

Examples:
  krmhub catalog apply recipe.yaml
  krmhub catalog apply - < recipe.yaml`,
    )
    .action(async (file: string, options: { registry?: string; output: OutputFormat }) => {
      const { applyRecipe } = await import('../../catalogs/apply-recipe.js');
      await applyRecipe(io, file, options);
    });
}
