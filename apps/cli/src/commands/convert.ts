import { CONVERT_SOURCES } from '@krmhub/schema/documents/formats';
import { PROFILES } from '@krmhub/schema/profile';
import { type Command, Option } from 'commander';
import type { ConvertFilesOptions } from '../functions/convert-files.js';
import type { Io } from '../io/io.js';
import { collect, parseCatalogName, withOutput, withSnapshotLimits } from './options.js';

export function registerConvert(program: Command, io: Io): void {
  withOutput(withSnapshotLimits(program.command('convert')))
    .summary('Convert other formats to definitions.')
    .description(
      'Convert kpt function metadata, kpt function lists, Porch FunctionConfigs, Krew plugins, and drafts of the KEP to definitions.',
    )
    .argument('<file...>', 'Files, folders with YAML and JSON, oci://… artifacts, or - for stdin.')
    .addOption(
      new Option('--from <source>', 'Type of the input files.')
        .choices(['auto', ...CONVERT_SOURCES])
        .default('auto'),
    )
    .addOption(
      new Option('--to <kind>', 'Type of the output.')
        .choices(['definition', 'catalog', 'krmfunctioncatalog', ...PROFILES])
        .default('definition'),
    )
    .option('--out <folder>', 'Folder for the output: one file per definition, or catalog.yaml.')
    .option('--release <release>', 'Release of the functions. Default: the name of a folder such as v0.3.')
    .option('--losses <file>', 'File for the list of fields that a profile does not support (JSON).')
    .option('--group <group>', 'Group of the functions. Default: derived from the source.')
    .option('-i, --image <image>', 'Image of a function without a runtime.')
    .option('--usage <url>', 'Usage document of functions without one.')
    .option('--example <url>', 'Example of functions without examples (repeatable).', collect)
    .option('--name <name>', 'Name of the catalog.', parseCatalogName)
    .option('--overwrite', 'Replace existing files that differ. Comments and order of definitions stay.')
    .addHelpText(
      'after',
      `
The command writes definitions to FOLDER/<kind>/<release>.yaml, or to
FOLDER/<kind>.yaml if the release is unknown. If a source has no value for a
field, the command uses a conservative value and prints a warning. --image,
--usage, and --example supply missing values and never replace existing ones.
With --from, the command skips files of other types in folders.

--to can also be a profile of \`krmhub catalog pull\`. The command prints on
stderr how many values the profile does not support.

Examples:
  krmhub convert metadata.yaml --release v0.3
  krmhub convert functions/ --out definitions
  krmhub convert plugin.yaml --group tools.example.com
  krmhub convert catalog.json --from kpt-list --to catalog
  krmhub convert draft.yaml --image registry.example.com/split:v1.0.0
  krmhub convert metadata.yaml --release v0.3 --example https://example.com/a
  krmhub convert definitions/ --to catalog --name example > catalog.yaml
  krmhub convert definitions/ --to porch > functions.yaml`,
    )
    .action(async (files: string[], options: ConvertFilesOptions) => {
      const { convertFiles } = await import('../functions/convert-files.js');
      await convertFiles(io, files, options);
    });
}
