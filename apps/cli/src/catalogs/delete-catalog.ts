import type { CatalogTombstone } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import { requireConfirmation } from '../io/confirm.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { escapeControls, plural } from '../io/text.js';
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
        `  ${catalogAddresses(client.url, catalog).yaml} would return 410, and so would its snapshots and oci://…/catalogs/${name}`,
      ];
      for (const line of lines) await printLine(io, escapeControls(line));
      return true;
    });
  }
  const tombstone = await client.deleteCatalog(name, reason);
  await printLine(io, escapeControls(deletedLine(tombstone)));
  await printData(io, options.output, tombstone, async () => undefined);
}

function deletedLine({ name, at, restorableUntil, purgedAt }: CatalogTombstone): string {
  if (purgedAt !== undefined) return `unchanged: catalog ${name} is deleted, and cannot be restored any more`;
  if (restorableUntil <= at) return `deleted catalog ${name}; it cannot be restored`;
  // The clock of the registry counts.
  const left = timeLeft(restorableUntil, new Date(at));
  return `deleted catalog ${name}; to undo this ${left}: krmhub catalog restore ${name}`;
}

/** Restores a deleted catalog. */
export async function restoreCatalog(
  io: Io,
  name: string,
  options: { registry?: string; output: OutputFormat },
): Promise<void> {
  const client = await connect(io, options.registry);
  const result = await client.restoreCatalog(name);
  await printLine(
    io,
    result.outcome === 'unchanged'
      ? `unchanged: catalog ${name} is not deleted`
      : `restored catalog ${name}: ${catalogAddresses(client.url, result.catalog).yaml}`,
  );
  await printData(io, options.output, result, async () => undefined);
}
