/**
 * Lists the sources of catalogs, and has a registry sync them.
 *
 * @module
 */

import { defined } from '@krmhub/schema/defined';
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
  const found = await (await connect(io, options.registry)).sources(catalog);
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
  const client = await connect(io, options.registry);
  const known = (await client.sources(catalog)).sources.map(({ source }) => source);
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new KrmhubError('not-found', `catalog ${catalog} has no source ${unknown.join(', ')}`, {
      hint:
        known.length === 0
          ? `Show its recipe: krmhub catalog show ${catalog}`
          : `Use one of: ${known.join(', ')}`,
    });
  }
  const names = wanted.length === 0 ? known : [...new Set(wanted)];
  const before = (await client.catalog(catalog)).newest;
  const { pollSources } = await import('./poll-sources.js');
  const { sources, failed } = await pollSources(io, client, catalog, names);
  // The entries are in the catalog only after the next snapshot, so the command waits for it.
  const newest = names.length === 0 ? before : (await client.cutCatalog(catalog)).newest;
  const changed = newest?.serial !== before?.serial;
  const data = { sources, changed, ...defined({ snapshot: newest }) };
  const { printSources } = await import('./print-sources.js');
  await printData(io, options.output, data, () => printSources(io, sources));
  if (names.length === 0) return printNoSources(io, catalog);
  await printLine(io, snapshotLine(catalog, before?.serial, newest?.serial));
  if (failed.length === 0) return;
  const { plural } = await import('@krmhub/schema/text');
  throw new KrmhubError(
    'unavailable',
    `cannot sync ${failed.length} of ${plural(names.length, 'source')} of ${catalog}: ${failed.join(', ')}`,
    { hint: `The registry retries. Show the problems: krmhub source list ${catalog}` },
  );
}

/** Describes the newest snapshot after a sync. */
function snapshotLine(catalog: string, before: number | undefined, newest: number | undefined): string {
  if (newest === undefined) return `${catalog} has no snapshot yet`;
  if (newest === before) return `unchanged: snapshot ${newest} is the newest of ${catalog}`;
  const next = before === undefined ? '' : `; see krmhub catalog diff ${catalog} ${before}`;
  return `built snapshot ${newest} of ${catalog}${next}`;
}

async function printNoSources(io: Io, catalog: string | undefined): Promise<void> {
  await printLine(
    io,
    catalog === undefined
      ? 'no upstream sources: all catalogs include only functions of this registry'
      : `no upstream sources: ${catalog} includes only functions of this registry`,
  );
}
