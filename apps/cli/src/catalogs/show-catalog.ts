import type { RegistryClient } from '@krmhub/api/client';
import type { CatalogDetail, Source } from '@krmhub/api/model';
import { CHANGED } from '@krmhub/consume/trust/judge-snapshot';
import { catalogUrl, openPinnedCatalog } from '@krmhub/consume/trust/registry-snapshot';
import { untrustedCatalog } from '@krmhub/consume/trust/require-snapshot';
import { sha256 } from '@krmhub/schema/digest';
import { escapeControls, oneLine, plural } from '@krmhub/schema/text';
import { type Io, write } from '../io/io.js';
import { bold, type OutputFormat, printData } from '../io/print.js';
import { relativeTime } from '../io/time.js';
import { connect } from '../registry/connection.js';
import { consumePorts } from '../registry/consume-ports.js';
import { type CatalogAddresses, catalogAddresses } from './catalog-addresses.js';

/** Prints the newest snapshot, the URLs and the recipe of a catalog. */
export async function showCatalog(
  io: Io,
  name: string,
  options: { registry?: string; output: OutputFormat },
): Promise<void> {
  const client = await connect(io, options.registry);
  const { catalog, verified } = await readShown(io, client, name);
  const addresses = catalogAddresses(client.url, catalog);
  await printData(io, options.output, { ...catalog, addresses, verified }, async () => {
    const { sources } = await client.sources(name);
    await printCatalog(io, catalog, addresses, sources);
  });
}

/**
 * Reads what the registry says of a catalog. The newest snapshot of a pinned catalog is the one that its key signed.
 * Throws `untrusted`.
 */
async function readShown(
  io: Io,
  client: RegistryClient,
  name: string,
): Promise<{ catalog: CatalogDetail; verified: boolean }> {
  const pinned = await openPinnedCatalog(consumePorts(io), client, name);
  const catalog = await client.catalog(name);
  if (pinned === undefined) return { catalog, verified: false };
  const { serial, files } = await pinned.read(async (at) => ({
    'catalog.yaml': (await client.catalogDocument(name, { snapshot: at, kind: 'Catalog', format: 'yaml' }))
      .bytes,
  }));
  // A snapshot may have been built since the description was read.
  const described = catalog.newest?.serial === serial ? catalog : await client.catalog(name);
  const digest = sha256(files['catalog.yaml']);
  if (described.newest?.serial === serial && described.newest.digest === digest) {
    return { catalog: described, verified: true };
  }
  const { newest } = described;
  const said =
    newest === undefined ? 'no snapshot' : `snapshot ${newest.serial} with the digest ${newest.digest}`;
  throw untrustedCatalog(
    catalogUrl(client.url, name),
    `the registry describes ${said}, but signed snapshot ${serial} with the digest ${digest}`,
    CHANGED,
  );
}

async function printCatalog(
  io: Io,
  catalog: CatalogDetail,
  addresses: CatalogAddresses,
  sources: readonly Source[],
): Promise<void> {
  const { name, description, newest, appliedAt, appliedBy, recipe } = catalog;
  const time = (at: string) => (io.stdout.isTTY === true ? relativeTime(at, io.now()) : at);
  const lines = [
    field('Catalog', name),
    ...(description === undefined ? [] : [field('About', description)]),
    field('Recipe', `applied ${time(appliedAt)} by ${appliedBy}`),
    ...(newest === undefined
      ? [field('Snapshot', 'none yet')]
      : [
          field(
            'Snapshot',
            `${newest.serial}, created ${time(newest.createdAt)}, ${plural(newest.functions, 'function')}`,
          ),
          field('Digest', newest.digest),
        ]),
    ...(sources.length === 0 ? [] : [field('Sources', sourcesSummary(sources, name))]),
    '',
    bold(io, 'URLs'),
    `  ${addresses.yaml}`,
    `  ${addresses.json}`,
    ...(addresses.snapshot === undefined ? [] : [`  ${addresses.snapshot}  (immutable)`]),
    '',
    bold(io, 'Recipe'),
    ...recipe
      .trimEnd()
      .split('\n')
      .map((line) => `  ${escapeControls(line.replace(/\r$/, ''))}`.trimEnd()),
  ];
  await write(io.stdout, lines.map((line) => `${line}\n`).join(''));
}

function sourcesSummary(sources: readonly Source[], name: string): string {
  const failing = sources.filter(({ state }) => state !== 'current').length;
  const count = plural(sources.length, 'upstream catalog');
  return failing === 0
    ? `${count}, current`
    : `${failing} of ${count} not current; see krmhub source list ${name}`;
}

/** Leaves room for a whole digest at 80 columns. */
const LABEL_COLUMNS = 9;

function field(label: string, value: string): string {
  return label.padEnd(LABEL_COLUMNS) + oneLine(value);
}
