import { KrmhubError } from '@krmhub/schema/error';
import type { Command } from 'commander';
import { connect } from '../connect.js';
import type { Io } from '../io.js';
import { type OutputFormat, printData, say } from '../output/print.js';
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
    .description('List sources: whether they answer, what they have, and what is wrong.')
    .argument('[catalog]', 'Name of a catalog; of all by default.', parseCatalogName)
    .addHelpText(
      'after',
      `
A source is current, stale where the last look did not succeed and an earlier
copy is used, or missing where there is none.

Examples:
  krmhub source list
  krmhub source list platform -o json`,
    )
    .action((catalog: string | undefined, options: SourceOptions) => list(io, catalog, options));
  withOutput(withRegistry(source.command('refresh')))
    .description('Have sources of a catalog asked now, and say what was found (admin).')
    .argument('<catalog>', 'Name of the catalog.', parseCatalogName)
    .argument('[source...]', 'Names of sources in its recipe; all by default.')
    .addHelpText(
      'after',
      `
Sources are asked by the registry on their own schedule, and all of those named
here at once. What has changed is taken by the catalog's next cut, which follows.

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
  const { printSources } = await import('../catalog-sources/print-sources.js');
  await printData(io, options.output, found, () => printSources(io, found.sources));
  if (found.sources.length > 0) return;
  await say(io, `There are none: ${catalog ?? 'every catalog'} takes functions of the registry alone.`);
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
  const { refreshSources } = await import('../catalog-sources/refresh-sources.js');
  const { sources, failed } = await refreshSources(io, client, catalog, names);
  const { printSources } = await import('../catalog-sources/print-sources.js');
  await printData(io, options.output, { sources }, () => printSources(io, sources));
  if (names.length === 0) await say(io, `There are none: ${catalog} takes functions of the registry alone.`);
  if (failed.length === 0) return;
  const { plural } = await import('../output/text.js');
  throw new KrmhubError(
    'unavailable',
    `${failed.length} of ${plural(names.length, 'source')} failed: ${failed.join(', ')}`,
    { hint: 'The registry asks them again by itself; `krmhub source list` says how they are.' },
  );
}
