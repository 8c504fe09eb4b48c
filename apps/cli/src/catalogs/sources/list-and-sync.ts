import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine } from '../../io/print.js';
import { connect } from '../../registry/connection.js';

export interface SourceOptions {
  registry?: string;
  output: OutputFormat;
}

export async function listSources(
  io: Io,
  catalog: string | undefined,
  options: SourceOptions,
): Promise<void> {
  const { withCatalogHint: ofCatalog } = await import('../../registry/catalog-name.js');
  const found = await ofCatalog((await connect(io, options.registry)).sources(catalog));
  const { printProblems, printSources } = await import('./print-sources.js');
  await printData(io, options.output, found, async () => {
    await printSources(io, found.sources);
    await printProblems(io, found.sources);
  });
  if (found.sources.length === 0) await printNoSources(io, catalog);
}

export async function syncSources(
  io: Io,
  catalog: string,
  wanted: readonly string[],
  options: SourceOptions,
): Promise<void> {
  const { withCatalogHint: ofCatalog } = await import('../../registry/catalog-name.js');
  const client = await connect(io, options.registry);
  const known = (await ofCatalog(client.sources(catalog))).sources.map(({ source }) => source);
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new KrmhubError(
      'not-found',
      `the recipe of ${catalog} has no catalog elsewhere called ${unknown.join(', ')}`,
      {
        hint:
          known.length === 0 ? 'It takes functions of the registry alone.' : `It has ${known.join(', ')}.`,
      },
    );
  }
  const names = wanted.length === 0 ? known : [...new Set(wanted)];
  const before = (await ofCatalog(client.catalog(catalog))).newest;
  const { refreshSources } = await import('./refresh-sources.js');
  const { sources, failed } = await refreshSources(io, client, catalog, names);
  // What was found is in the catalog only when it is cut, and whoever asked wants to look at that next.
  const newest = names.length === 0 ? before : (await ofCatalog(client.cutCatalog(catalog))).newest;
  const changed = newest?.serial !== before?.serial;
  const data = { sources, changed, ...(newest === undefined ? {} : { snapshot: newest }) };
  const { printSources } = await import('./print-sources.js');
  await printData(io, options.output, data, () => printSources(io, sources));
  if (names.length === 0) return printNoSources(io, catalog);
  await printLine(io, snapshotLine(catalog, before?.serial, newest?.serial));
  if (failed.length === 0) return;
  const { plural } = await import('../../io/text.js');
  throw new KrmhubError(
    'unavailable',
    `${failed.length} of ${plural(names.length, 'source')} failed: ${failed.join(', ')}`,
    { hint: `The registry asks again by itself; \`krmhub source list ${catalog}\` says how they are.` },
  );
}

/** What the catalog is after its sources were asked. */
function snapshotLine(catalog: string, before: number | undefined, newest: number | undefined): string {
  if (newest === undefined) return `${catalog} has no snapshot yet`;
  if (newest === before) return `Nothing changes in ${catalog}: snapshot ${newest} is the newest`;
  const next = before === undefined ? '' : `: krmhub catalog diff ${catalog} ${before}`;
  return `Cut snapshot ${newest} of ${catalog}${next}`;
}

async function printNoSources(io: Io, catalog: string | undefined): Promise<void> {
  await printLine(io, `There are none: ${catalog ?? 'every catalog'} takes functions of the registry alone.`);
}
