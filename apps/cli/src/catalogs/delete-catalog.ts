import type { RegistryClient } from '@krmhub/api/client';
import type { CatalogTombstone } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import { suggest } from '@krmhub/schema/suggest';
import { escapeControls, plural } from '@krmhub/schema/text';
import { requireConfirmation } from '../io/confirm.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { timeLeft } from '../io/time.js';
import { connect } from '../registry/connection.js';
import { catalogAddresses } from './catalog-addresses.js';

export interface DeleteOptions {
  reason: string;
  /** Do not ask. */
  yes?: boolean;
  output: OutputFormat;
  registry?: string;
}

/** Deletes a catalog after it asks, and prints until when it can be restored. */
export async function deleteCatalog(io: Io, name: string, options: DeleteOptions): Promise<void> {
  const reason = options.reason.trim();
  if (reason === '') {
    throw new KrmhubError('usage', '--reason is empty', {
      hint: 'Add a public reason, for example: --reason "merged into default"',
    });
  }
  const client = await connect(io, options.registry);
  if (options.yes !== true) {
    await requireConfirmation(io, `delete catalog ${name}`, `Delete catalog ${name}?`, async () => {
      const catalog = await client.catalog(name);
      const { sources } = await client.sources(name);
      const { newest } = catalog;
      const size =
        newest === undefined
          ? 'no snapshot'
          : `${plural(newest.functions, 'function')}, snapshot ${newest.serial}`;
      const lines = [
        `would delete catalog ${name}: ${size}, ${plural(sources.length, 'upstream source')}`,
        '  all its URLs, also of snapshots and over OCI, would return status 410:',
        `  ${catalogAddresses(client.url, catalog).yaml}`,
      ];
      for (const line of lines) await printLine(io, escapeControls(line));
      return true;
    });
  }
  const tombstone = await client.deleteCatalog(name, reason);
  for (const line of deletedLines(tombstone)) await printLine(io, escapeControls(line));
  await printData(io, options.output, tombstone, async () => undefined);
}

/** Adds what can be restored to the error for an unknown name. */
async function withDeletedNames(error: unknown, client: RegistryClient, name: string): Promise<unknown> {
  if (!(error instanceof KrmhubError) || error.code !== 'not-found') return error;
  const { deleted = [] } = await client.catalogs();
  const names = deleted.flatMap((one) => (one.purgedAt === undefined ? [one.name] : []));
  const meant = suggest(name, names);
  const list = 'List the deleted catalogs: krmhub catalog list';
  const hint = meant === undefined ? list : `Did you mean ${meant}? ${list}`;
  return new KrmhubError('not-found', error.message, { hint, cause: error });
}

function deletedLines({ name, at, restorableUntil, purgedAt }: CatalogTombstone): string[] {
  if (purgedAt !== undefined)
    return [`unchanged: catalog ${name} is deleted, and cannot be restored any more`];
  if (restorableUntil <= at) return [`deleted catalog ${name}; it cannot be restored`];
  // The clock of the registry counts.
  const left = timeLeft(restorableUntil, new Date(at));
  return [`deleted catalog ${name}`, `  to undo this ${left}: krmhub catalog restore ${name}`];
}

/** Restores a deleted catalog. */
export async function restoreCatalog(
  io: Io,
  name: string,
  options: { registry?: string; output: OutputFormat },
): Promise<void> {
  const client = await connect(io, options.registry);
  const result = await client.restoreCatalog(name).catch(async (error: unknown) => {
    throw await withDeletedNames(error, client, name);
  });
  await printLine(
    io,
    result.outcome === 'unchanged'
      ? `unchanged: catalog ${name} is not deleted`
      : `restored catalog ${name}: ${catalogAddresses(client.url, result.catalog).yaml}`,
  );
  await printData(io, options.output, result, async () => undefined);
}
