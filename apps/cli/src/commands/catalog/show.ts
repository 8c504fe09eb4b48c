import type { CatalogDetail, Source } from '@krmhub/api/model';
import type { Command } from 'commander';
import { type Io, write } from '../../io/io.js';
import { bold, type OutputFormat, printData } from '../../io/print.js';
import { oneLine, plural, visible } from '../../io/text.js';
import { relativeTime } from '../../io/time.js';
import { connect } from '../../registry/connection.js';
import { withOutput, withRegistry } from '../options.js';
import { type CatalogAddresses, catalogAddresses } from './addresses.js';
import { ofCatalog, withCatalogName } from './catalog-name.js';

export function registerCatalogShow(parent: Command, io: Io): void {
  withOutput(withRegistry(withCatalogName(parent.command('show'))))
    .description("Show a catalog's newest snapshot, its addresses and its recipe.")
    .addHelpText('after', '\nExamples:\n  krmhub catalog show default\n  krmhub catalog show default -o json')
    .action(async (name: string, options: { registry?: string; output: OutputFormat }) => {
      const client = await connect(io, options.registry);
      const catalog = await ofCatalog(client.catalog(name));
      const addresses = catalogAddresses(client.url, catalog);
      await printData(io, options.output, { ...catalog, addresses }, async () => {
        const { sources } = await client.sources(name);
        await print(io, catalog, addresses, sources);
      });
    });
}

async function print(
  io: Io,
  catalog: CatalogDetail,
  addresses: CatalogAddresses,
  sources: readonly Source[],
): Promise<void> {
  const { name, newest, appliedAt, appliedBy, recipe } = catalog;
  const time = (at: string) => (io.stdout.isTTY === true ? relativeTime(at, io.now()) : at);
  const lines = [
    field('Catalog', name),
    field('Recipe', `applied ${time(appliedAt)} by ${appliedBy}`),
    ...(newest === undefined
      ? [field('Snapshot', 'none yet')]
      : [
          field(
            'Snapshot',
            `${newest.serial}, cut ${time(newest.createdAt)}, ${plural(newest.functions, 'function')}`,
          ),
          field('Digest', newest.digest),
        ]),
    ...(sources.length === 0 ? [] : [field('Sources', standingOf(sources, name))]),
    '',
    bold(io, 'Addresses'),
    `  ${addresses.yaml}`,
    `  ${addresses.json}`,
    ...(addresses.snapshot === undefined ? [] : [`  ${addresses.snapshot}  (never changes)`]),
    '',
    bold(io, 'Recipe'),
    ...recipe
      .trimEnd()
      .split('\n')
      .map((line) => `  ${visible(line.replace(/\r$/, ''))}`.trimEnd()),
  ];
  await write(io.stdout, lines.map((line) => `${line}\n`).join(''));
}

/** How the catalogs elsewhere are that it takes from. */
function standingOf(sources: readonly Source[], name: string): string {
  const failing = sources.filter(({ state }) => state !== 'current').length;
  const elsewhere = plural(sources.length, 'catalog');
  return failing === 0
    ? `${elsewhere} elsewhere, current`
    : `${failing} of ${elsewhere} elsewhere not current: krmhub source list ${name}`;
}

/** A digest fits after it at 80 columns. */
const LABEL_COLUMNS = 9;

function field(label: string, value: string): string {
  return label.padEnd(LABEL_COLUMNS) + oneLine(value);
}
