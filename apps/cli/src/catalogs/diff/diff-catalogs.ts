/**
 * Compares two snapshots of a catalog, or the catalogs in two files.
 *
 * @module
 */

import type { CatalogChange, CatalogChangeClass, ComparedCatalog } from '@krmhub/catalog';
import { isCatalogName, isSnapshotReference } from '@krmhub/consume/references/catalog-name';
import { KrmhubError } from '@krmhub/schema/error';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine } from '../../io/print.js';
import { consumePorts } from '../../registry/consume-ports.js';
import type { SnapshotSide } from './snapshot-sides.js';

export interface DiffOptions {
  only?: string[];
  breaking?: true;
  output: OutputFormat;
  registry?: string;
}

/** One side of the comparison: a snapshot of a registry, or a file. */
type Side = SnapshotSide | { file: string };

type Sides = Record<'before' | 'after', { side: Side; catalog: ComparedCatalog }>;

type Names = [first: string, second: string | undefined, third: string | undefined];

export async function diffCatalogs(io: Io, names: Names, options: DiffOptions): Promise<void> {
  const { CATALOG_CHANGE_CLASSES, CATALOG_CHANGE_IMPACTS, compareCatalogs } = await import('@krmhub/catalog');
  const wanted = checkClasses(options.only, Object.keys(CATALOG_CHANGE_CLASSES));
  const { before, after } = await readSides(io, names, options);
  const changes = compareCatalogs(before.catalog, after.catalog).filter(
    (change) =>
      (wanted === undefined || wanted.includes(change.class)) &&
      (options.breaking !== true || change.weight === 'breaking'),
  );
  const count = (weight: CatalogChange['weight']) =>
    changes.filter((change) => change.weight === weight).length;
  const counts = Object.fromEntries(CATALOG_CHANGE_IMPACTS.map((weight) => [weight, count(weight)]));
  const data = { before: before.side, after: after.side, ...counts, changes };
  await printData(io, options.output, data, async () => {
    const { printCatalogChanges } = await import('./print-catalog-changes.js');
    const filtered = wanted !== undefined || options.breaking === true;
    await printCatalogChanges(io, title(before.side, after.side), changes, { filtered });
  });
  if (count('breaking') > 0) io.exitCode = FINDINGS;
}

function checkClasses(
  only: readonly string[] | undefined,
  known: readonly string[],
): CatalogChangeClass[] | undefined {
  const unknown = only?.find((name) => !known.includes(name));
  if (unknown === undefined) return only as CatalogChangeClass[] | undefined;
  throw new KrmhubError('usage', `unknown class of changes: ${unknown}`, {
    hint: `Use one of: ${known.join(', ')}`,
  });
}

async function readSides(io: Io, names: Names, options: DiffOptions): Promise<Sides> {
  const [first, second, third] = names;
  if (third === undefined && isFile(first) && second !== undefined && isFile(second)) {
    return readFiles(io, first, second);
  }
  checkNames(names);
  return readSnapshots(io, names, options);
}

async function readFiles(io: Io, before: string, after: string): Promise<Sides> {
  if (before === '-' && after === '-')
    throw new KrmhubError('usage', 'cannot read stdin twice: "-" is an argument more than once', {
      hint: 'Use "-" only once.',
    });
  const { readCatalogFile } = await import('./read-catalog.js');
  const read = async (file: string) => ({
    side: { file },
    catalog: { functions: await readCatalogFile(io, file) },
  });
  return { before: await read(before), after: await read(after) };
}

async function readSnapshots(io: Io, [name, from, to]: Names, options: DiffOptions): Promise<Sides> {
  const { connect } = await import('../../registry/connection.js');
  const { requireNoLimits } = await import('@krmhub/consume/trust/require-snapshot');
  const { findPin } = await import('@krmhub/consume/trust/pinned-catalogs');
  const { catalogUrl, PinnedCatalogReader, reportUnverified } = await import(
    '@krmhub/consume/trust/registry-snapshot'
  );
  const { chooseSnapshots, readSnapshot } = await import('./snapshot-sides.js');
  const client = await connect(io, options.registry);
  const pin = await findPin(io, catalogUrl(client.url, name));
  if (pin === undefined) requireNoLimits(io, `catalog ${name}`, catalogUrl(client.url, name));
  // Of two snapshots, the limits are about the newer one.
  const { snapshotLimits: _, ...unlimited } = io;
  const pinnedReader = (snapshot: string | undefined, by: Io) =>
    pin &&
    new PinnedCatalogReader(consumePorts(by), client, name, pin, snapshot === undefined ? {} : { snapshot });
  const chosen = await chooseSnapshots(client, name, from, to);
  if (chosen.skipped.length > 0) {
    await printLine(io, `skipped withdrawn snapshots: ${chosen.skipped.join(', ')}`);
  }
  const sides = {
    before: await readSnapshot(client, name, chosen.from, pinnedReader(chosen.from, unlimited)),
    // The list of snapshots is not signed: that the newest one is the newest, only its signature says.
    after: await readSnapshot(client, name, chosen.to, pinnedReader(to, io)),
  };
  if (pin === undefined) await reportUnverified(consumePorts(io), client, name);
  return sides;
}

/** Reports whether an argument is a file: no catalog and no snapshot has such a name. */
function isFile(text: string): boolean {
  return text === '-' || (/\/|\\|\.(ya?ml|json)$/i.test(text) && !/^https?:/i.test(text));
}

function checkNames([name, ...snapshots]: Names): void {
  const given = [name, ...snapshots].filter((text) => text !== undefined);
  const address = given.find((text) => /^https?:/i.test(text));
  if (address !== undefined) {
    throw new KrmhubError('usage', `cannot compare ${address}: it is a URL, not a file or a catalog name`, {
      hint: 'Use the name of the catalog, and set the registry with --registry URL.',
    });
  }
  if (given.some(isFile)) {
    throw new KrmhubError('usage', 'cannot compare a file with a snapshot', {
      hint: 'Download the snapshot with `krmhub catalog pull`, then run: krmhub catalog diff OLD.yaml NEW.yaml',
    });
  }
  if (!isCatalogName(name)) {
    throw new KrmhubError('usage', `${name} is neither a catalog name nor a file`, {
      hint: `List the catalogs with \`krmhub catalog list\`, or use ./${name} for a file.`,
    });
  }
  const wrong = snapshots.find((text) => text !== undefined && !isSnapshotReference(text));
  if (wrong === undefined) return;
  throw new KrmhubError('usage', `${wrong} is neither a serial nor a digest (sha256:…)`, {
    hint: `List the snapshots: krmhub catalog history ${name}`,
  });
}

function title(before: Side, after: Side): string {
  if ('file' in before || 'file' in after) return `${sideName(before)} → ${sideName(after)}`;
  return `${before.catalog}: snapshot ${before.serial} → ${after.serial}`;
}

function sideName(side: Side): string {
  if ('serial' in side) return `snapshot ${side.serial}`;
  return side.file === '-' ? 'stdin' : side.file;
}
