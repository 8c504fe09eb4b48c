import { KrmhubError } from '@krmhub/schema/error';
import { type Command, Option } from 'commander';
import type { BuildOptions } from '../../catalogs/build/run-build.js';
import type { Io } from '../../io/io.js';
import { withOutput, withRegistry } from '../options.js';

// As the schema package has them, which loads too much for a help text.
const KINDS = ['Catalog', 'KRMFunctionCatalog'] as const;
const FORMATS = ['yaml', 'json'] as const;

export function registerCatalogBuild(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('build')))
    .description('Build a catalog from a recipe: a snapshot without a server.')
    .argument('[recipe]', 'File with a CatalogRecipe, or - for stdin.')
    .option('--inputs <folder>', 'Build from what `krmhub catalog inputs` wrote; no network is used.')
    .option('--out <file>', 'File for the catalog, whole or not at all; - is stdout.', '-')
    .option('--report <file>', 'File for what was shadowed, refused and invalid (JSON).')
    .option('--snapshot <file>', 'File for the source and release of every entry (JSON).')
    .addOption(new Option('--kind <kind>', 'Kind of the document.').choices(KINDS).default('Catalog'))
    .addOption(new Option('--format <format>', 'Form of the document.').choices(FORMATS).default('yaml'))
    .option('--trusted-root <file>', 'The sigstore instance that is believed; else KRMHUB_TRUSTED_ROOT.')
    .addHelpText(
      'after',
      `
Catalogs elsewhere are fetched from this machine: file: below the recipe's
folder, http, https, git and OCI, with the credentials of \`docker login\` and
\`krmhub login\` for the same host. They are not asked through a proxy.
Signatures that the recipe wants are verified here, those of a registry's
releases as the registry has found them. The registry is asked only where a
source has \`functions:\`, and which groups it holds is known only then.

A source that fails ends the build, and nothing is written. Nothing is
remembered: a registry refuses older snapshots of a source than it has seen, and
knows since when an entry is there, which minimumAge asks for.

Serials are a registry's: in the report and the snapshot it is 0.

With --inputs everything is what the registry knew, and what is built is held
against the registry's own snapshot: other bytes are told, and not written.

Exit codes: 0 built, 1 other bytes than the registry's, 4 a source is not
trusted, 5 a source or the registry failed.

Examples:
  krmhub catalog build recipe.yaml > catalog.yaml
  krmhub catalog build recipe.yaml --out catalog.yaml --report report.json
  krmhub catalog build recipe.yaml --out catalog.json --format json -o json
  krmhub catalog build recipe.yaml --registry https://krm.example.com > c.yaml
  krmhub catalog build --inputs platform --out catalog.yaml`,
    )
    .action(async (file: string | undefined, { inputs, ...options }: BuildOptions & { inputs?: string }) => {
      if ((file === undefined) === (inputs === undefined)) {
        throw new KrmhubError('usage', 'name a recipe, or a folder of inputs with --inputs');
      }
      if (file === undefined) {
        const { runInputsBuild } = await import('../../catalogs/build/run-inputs-build.js');
        await runInputsBuild(io, inputs!, options);
        return;
      }
      const { runBuild } = await import('../../catalogs/build/run-build.js');
      await runBuild(io, file, options);
    });
}
