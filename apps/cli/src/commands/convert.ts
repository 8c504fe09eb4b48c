import { PROFILES } from '@krmhub/schema/profile';
import { type Command, Option } from 'commander';
import type { ConvertFilesOptions } from '../functions/convert-files.js';
import type { Io } from '../io/io.js';
import { parseCatalogName } from './catalog/catalog-name.js';

export function registerConvert(program: Command, io: Io): void {
  program
    .command('convert')
    .description('Make definitions of kpt function metadata, Krew plugins, and other spellings of the KEP.')
    .argument('<file...>', 'Files, folders of YAML and JSON, oci://… artifacts, or - for stdin.')
    .addOption(
      new Option('--from <source>', 'What the files are.')
        .choices(['auto', 'kep', 'kpt-metadata', 'krew'])
        .default('auto'),
    )
    .addOption(
      new Option('--to <kind>', 'What to write.')
        .choices(['definition', 'catalog', 'krmfunctioncatalog', ...PROFILES])
        .default('definition'),
    )
    .option('--out <folder>', 'Write one file for each definition, or catalog.yaml; else print.')
    .option('--release <release>', 'Release, as the tag of the image is to be; else a folder like v0.3.')
    .option('--losses <file>', 'File for everything that a profile does not say, as JSON.')
    .option('--group <group>', 'Group, instead of the one that the source suggests.')
    .option('--name <name>', 'Name of the catalog.', parseCatalogName)
    .option('--force', 'Replace files that are there with other content.')
    .addHelpText(
      'after',
      `
Definitions go to FOLDER/<kind>/<release>.yaml, or FOLDER/<kind>.yaml where no
release is known. What a source does not say is written conservatively, and a
warning tells. In a folder, files of other kinds than --from are passed over.

A catalog can be written in the dialects that other tools read, too: those of
krmhub catalog pull --profile. What they cannot say is counted on stderr.

Examples:
  krmhub convert metadata.yaml --release v0.3
  krmhub convert functions/ --out definitions
  krmhub convert plugin.yaml --group tools.example.com
  krmhub convert definitions/ --to catalog --name example > catalog.yaml
  krmhub convert definitions/ --to porch > functions.yaml`,
    )
    .action(async (files: string[], options: ConvertFilesOptions) => {
      const { convertFiles } = await import('../functions/convert-files.js');
      await convertFiles(io, files, options);
    });
}
