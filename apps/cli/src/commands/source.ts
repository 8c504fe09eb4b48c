import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, say } from '../io/print.js';
import { connect } from '../registry/connection.js';
import { parseCatalogName } from './catalog/catalog-name.js';
import { withOutput, withRegistry } from './options.js';

interface SourceOptions {
  registry?: string;
  output: OutputFormat;
}

export function registerSource(program: Command, io: Io): void {
  const source = program
    .command('source')
    .description('The catalogs elsewhere that the catalogs of a registry take from.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub source list
  krmhub source refresh platform`,
    );
  withOutput(withRegistry(source.command('list')))
    .summary('List sources, and what is wrong.')
    .description('List sources: whether they answer, what they have, and what is wrong.')
    .argument('[catalog]', 'Name of a catalog; of all by default.', parseCatalogName)
    .addHelpText(
      'after',
      `
A source is current, stale where the last look did not succeed and the last good
copy is used, or missing where there is none. CHANGED is when that copy was
fetched, ASKED when the registry last looked. What is wrong stands below.

Without a terminal: one line for each, of catalog, source, state, entries, when
it changed, when it was asked, URL, since when it fails, problem and message.

Examples:
  krmhub source list
  krmhub source list platform -o json`,
    )
    .action((catalog: string | undefined, options: SourceOptions) => list(io, catalog, options));
  withOutput(withRegistry(source.command('refresh')))
    .summary('Ask sources now (admin).')
    .description('Have sources of a catalog asked now, and say what was found (admin).')
    .argument('<catalog>', 'Name of the catalog.', parseCatalogName)
    .argument('[source...]', 'Names of sources in its recipe; all by default.')
    .addHelpText(
      'after',
      `
Sources are asked by the registry on their own schedule; this asks now, waits
until the catalog is cut, and says which snapshot that made, if any. A source
that fails changes nothing: its last good copy is used.

Exit codes: 0 all answered, 3 there is no such source, 5 one failed.

Examples:
  krmhub source refresh platform
  krmhub source refresh platform banana melon`,
    )
    .action((catalog: string, names: string[], options: SourceOptions) =>
      refresh(io, catalog, names, options),
    );
}

async function list(io: Io, catalog: string | undefined, options: SourceOptions): Promise<void> {
  const { ofCatalog } = await import('./catalog/catalog-name.js');
  const found = await ofCatalog((await connect(io, options.registry)).sources(catalog));
  const { printProblems, printSources } = await import('../catalogs/sources/print-sources.js');
  await printData(io, options.output, found, async () => {
    await printSources(io, found.sources);
    await printProblems(io, found.sources);
  });
  if (found.sources.length === 0) await saySourcesOf(io, catalog);
}

async function refresh(
  io: Io,
  catalog: string,
  wanted: readonly string[],
  options: SourceOptions,
): Promise<void> {
  const { ofCatalog } = await import('./catalog/catalog-name.js');
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
  const { refreshSources } = await import('../catalogs/sources/refresh-sources.js');
  const { sources, failed } = await refreshSources(io, client, catalog, names);
  // What was found is in the catalog only when it is cut, and whoever asked wants to look at that next.
  const newest = names.length === 0 ? before : (await ofCatalog(client.cutCatalog(catalog))).newest;
  const changed = newest?.serial !== before?.serial;
  const data = { sources, changed, ...(newest === undefined ? {} : { snapshot: newest }) };
  const { printSources } = await import('../catalogs/sources/print-sources.js');
  await printData(io, options.output, data, () => printSources(io, sources));
  if (names.length === 0) return saySourcesOf(io, catalog);
  await say(io, cutLine(catalog, before?.serial, newest?.serial));
  if (failed.length === 0) return;
  const { plural } = await import('../io/text.js');
  throw new KrmhubError(
    'unavailable',
    `${failed.length} of ${plural(names.length, 'source')} failed: ${failed.join(', ')}`,
    { hint: `The registry asks again by itself; \`krmhub source list ${catalog}\` says how they are.` },
  );
}

/** What the catalog is after its sources were asked. */
function cutLine(catalog: string, before: number | undefined, newest: number | undefined): string {
  if (newest === undefined) return `${catalog} has no snapshot yet`;
  if (newest === before) return `Nothing changes in ${catalog}: snapshot ${newest} is the newest`;
  const next = before === undefined ? '' : `: krmhub catalog diff ${catalog} ${before}`;
  return `Cut snapshot ${newest} of ${catalog}${next}`;
}

async function saySourcesOf(io: Io, catalog: string | undefined): Promise<void> {
  await say(io, `There are none: ${catalog ?? 'every catalog'} takes functions of the registry alone.`);
}
