import { isSnapshotReference } from '@krmhub/consume/references/catalog-name';
import { PROFILE_SUMMARIES, PROFILES } from '@krmhub/schema/profile';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { PullOptions } from '../../catalogs/pull-catalog.js';
import type { Io } from '../../io/io.js';
import { withCatalogName, withOutput, withRegistry, withSnapshotLimits } from '../options.js';

// As the schema package has them, which loads too much for a help text.
const KINDS: readonly PullOptions['kind'][] = ['Catalog', 'KRMFunctionCatalog'];
const FORMATS: readonly NonNullable<PullOptions['format']>[] = ['yaml', 'json'];
/** The longest name, and two spaces. */
const PROFILE_COLUMNS = Math.max(...PROFILES.map(({ length }) => length)) + 2;

export function registerCatalogPull(parent: Command, io: Io): void {
  withOutput(withSnapshotLimits(withRegistry(withCatalogName(parent.command('pull')))))
    .summary('Download a catalog.')
    .description('Download a catalog. Verify its digest, and its signature if you pinned a key.')
    .option(
      '--snapshot <snapshot>',
      'Serial or digest (sha256:…). Default: the newest snapshot.',
      parseSnapshot,
    )
    .addOption(new Option('--kind <kind>', 'Kind of the document.').choices(KINDS).default('Catalog'))
    .addOption(new Option('--format <format>', 'Format of the document. Default: yaml.').choices(FORMATS))
    .addOption(
      new Option('--profile <profile>', 'Write the dialect of another tool, instead of --kind and --format.')
        .choices(PROFILES)
        .conflicts(['kind', 'format']),
    )
    .option('--losses <file>', 'File for the list of fields that the profile does not support (JSON).')
    .option('--out <file>', 'File for the catalog, or - for stdout.', '-')
    .addHelpText(
      'after',
      `
If you pinned the key of the catalog with \`krmhub trust add URL\`, the command
verifies the signature in every format and profile. If the verification fails,
it writes nothing and exits with code 4. Without a pinned key, it prints a
warning.

With --out, -o is the format of the report. Without it, -o is that of the
document, as --format is.

Profiles (the command prints the number of unsupported values on stderr):
${PROFILES.map((profile) => `  ${profile.padEnd(PROFILE_COLUMNS)}${PROFILE_SUMMARIES[profile]}`).join('\n')}

Examples:
  krmhub catalog pull default > catalog.yaml
  krmhub catalog pull default --out catalog.yaml
  krmhub catalog pull default --snapshot 7 --format json --out catalog.json
  krmhub catalog pull default --profile porch --losses losses.json > porch.yaml`,
    )
    .action(async (name: string, options: PullOptions) => {
      const { pullCatalog } = await import('../../catalogs/pull-catalog.js');
      await pullCatalog(io, name, options);
    });
}

function parseSnapshot(value: string): string {
  if (isSnapshotReference(value)) return value;
  throw new InvalidArgumentError('Use a serial, for example 7, or a digest (sha256:…).');
}
