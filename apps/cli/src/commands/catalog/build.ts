import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '@krmhub/schema/text';
import { type Command, Option } from 'commander';
import type { BuildOptions } from '../../catalogs/build/run-build.js';
import type { Io } from '../../io/io.js';
import { withOutput, withRegistry, withSnapshotLimits } from '../options.js';

// As the schema package has them, which loads too much for a help text.
const KINDS = ['Catalog', 'KRMFunctionCatalog'] as const;
const FORMATS = ['yaml', 'json'] as const;

export function registerCatalogBuild(parent: Command, io: Io): void {
  withOutput(withSnapshotLimits(withRegistry(parent.command('build'))))
    .summary('Build a catalog from a recipe.')
    .description('Build a catalog from a recipe, without a server.')
    .argument('[recipe]', 'File with a CatalogRecipe, or - for stdin.')
    .option('--inputs <folder>', 'Build from the output of `krmhub catalog inputs`, without network access.')
    .option('--out <file>', 'File for the catalog, or - for stdout.', '-')
    .option('--report <file>', 'File for shadowed, refused, and invalid entries (JSON).')
    .option('--snapshot-file <file>', 'File for the source and release of every entry (JSON).')
    .addOption(new Option('--kind <kind>', 'Kind of the document.').choices(KINDS).default('Catalog'))
    .addOption(new Option('--format <format>', 'Format of the document.').choices(FORMATS).default('yaml'))
    .option('--trusted-root <file>', 'Trusted root of sigstore. Default: KRMHUB_TRUSTED_ROOT.')
    .addHelpText(
      'after',
      `
The command fetches upstream catalogs from this machine over http, https, git,
OCI, or file: (in the folder of the recipe). It uses your credentials (krmhub
docs credentials), your git configuration, and your proxy. It verifies the
signatures that the recipe requires. It contacts the registry only if a source
has \`functions:\`.

If a source fails, the build fails and writes nothing. A build has no history:
it cannot reject older snapshots of a source, and it does not support
minimumAge. For a source with a pinned key, use --min-serial or --max-age. The
serial in the report and in the snapshot is 0.

With --inputs, the build uses the exact inputs of the registry. If the result
differs from the snapshot of the registry, the command fails and writes nothing.

Exit codes: 0 built, 1 differs from the registry, 4 a source is not trusted, 5 a
source or the registry failed.

Examples:
  krmhub catalog build recipe.yaml > catalog.yaml
  krmhub catalog build recipe.yaml --out catalog.yaml --report report.json
  krmhub catalog build recipe.yaml --out catalog.json --format json -o json
  krmhub catalog build recipe.yaml --registry https://krm.example.com > c.yaml
  krmhub catalog build --inputs platform --out catalog.yaml`,
    )
    .action(async (file: string | undefined, { inputs, ...options }: BuildOptions & { inputs?: string }) => {
      if (inputs !== undefined && io.snapshotLimits !== undefined) {
        throw new KrmhubError('usage', '--inputs cannot be combined with --min-serial or --max-age', {
          hint: `Set them when you export the inputs: krmhub catalog inputs NAME --max-age 20d --out ${shellWord(inputs)}`,
        });
      }
      if ((file === undefined) === (inputs === undefined)) {
        throw new KrmhubError('usage', 'cannot build a catalog: either a recipe or --inputs is required', {
          hint: 'Use one of them, for example: krmhub catalog build recipe.yaml --out catalog.yaml',
        });
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
