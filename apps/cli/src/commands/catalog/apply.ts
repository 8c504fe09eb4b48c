/**
 * Registers the subcommands of `krmhub catalog`: their arguments, options, and help.
 *
 * @module
 */

import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import type { Io } from '../../io/io.js';
import type { OutputFormat } from '../../io/print.js';
import { withOutput, withRegistry } from '../options.js';

interface CommandOptions {
  example?: string | true;
  registry?: string;
  output: OutputFormat;
}

export function registerCatalogApply(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('apply')))
    .summary('Apply a recipe (admin).')
    .description('Create or update a catalog from a recipe, and wait for the snapshot (admin).')
    .argument('[recipe]', 'File with a CatalogRecipe, or - for stdin.')
    .option('--example [name]', 'Apply a recipe of krmhub, of a public catalog. Without a name, list them.')
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
  krmhub catalog apply - < recipe.yaml
  krmhub catalog apply --example
  krmhub catalog apply --example kpt-functions`,
    )
    .action(async (file: string | undefined, { example, ...options }: CommandOptions) => {
      const { applyRecipe, listExamples } = await import('../../catalogs/apply-recipe.js');
      if ((file === undefined) === (example === undefined)) {
        throw new KrmhubError('usage', 'cannot apply a recipe: either a file or --example is required', {
          hint: 'Use one of them, for example: krmhub catalog apply recipe.yaml',
        });
      }
      if (example === true) await listExamples(io, options.output);
      else await applyRecipe(io, file ?? `${example}.yaml`, { ...options, ...defined({ example }) });
    });
}
