import type { RegistryClient } from '@krmhub/api/client';
import type { SnapshotSummary } from '@krmhub/api/model';
import { snapshotPages } from '@krmhub/api/read-pages';
import type { ComparedCatalog } from '@krmhub/catalog';
import type { PinnedCatalogReader } from '@krmhub/consume/trust/registry-snapshot';
import type { Digest, Snapshot } from '@krmhub/schema';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { parseFunctions } from './read-catalog.js';

/** A snapshot of a catalog, after verification of its digest. */
export interface SnapshotSide {
  catalog: string;
  serial: number;
  /** Of catalog.yaml. */
  digest: Digest;
}

/** Chooses two snapshots: the named ones, else the two newest that are not withdrawn. */
export async function chooseSnapshots(
  client: RegistryClient,
  name: string,
  from: string | undefined,
  to: string | undefined,
): Promise<{ from: string; to: string; skipped: number[] }> {
  if (from !== undefined && to !== undefined) return { from, to, skipped: [] };
  const snapshots: SnapshotSummary[] = [];
  const available: SnapshotSummary[] = [];
  for await (const page of snapshotPages(client, name)) {
    snapshots.push(...page.snapshots);
    available.push(...page.snapshots.filter(({ withdrawn }) => withdrawn === undefined));
    if (available.length >= 2) break;
  }
  const [newest, earlier] = available;
  if (newest === undefined || (from === undefined && earlier === undefined)) {
    const withdrawn = snapshots.length > available.length ? '; the others are withdrawn' : '';
    const what = newest === undefined ? 'no snapshot' : 'only one snapshot';
    throw new KrmhubError('not-found', `cannot compare snapshots: catalog ${name} has ${what}${withdrawn}`, {
      hint: `List the snapshots: krmhub catalog history ${name}`,
    });
  }
  const last = from ?? String(earlier!.serial);
  const skipped =
    from === undefined
      ? snapshots.filter(({ withdrawn, serial }) => withdrawn && serial > earlier!.serial)
      : [];
  return { from: last, to: String(newest.serial), skipped: skipped.map(({ serial }) => serial) };
}

/**
 * Reads the functions and the `snapshot.json` of a snapshot. A digest reference is the digest of catalog.yaml. `pinned`
 * reads only what the pinned key of the catalog signed.
 */
export async function readSnapshot(
  client: RegistryClient,
  name: string,
  reference: string,
  pinned?: PinnedCatalogReader,
): Promise<{ side: SnapshotSide; catalog: ComparedCatalog }> {
  if (pinned !== undefined) return readPinnedSnapshot(client, name, reference, pinned);
  const snapshot = await client.snapshot(name, reference);
  const { serial, digests, entries } = snapshot;
  const digest = digests['catalog.yaml'];
  const exact = reference.startsWith('sha256:');
  if (snapshot.catalog !== name || (exact ? digest : String(serial)) !== reference) {
    throw mismatchError(
      `requested ${reference} of ${name}, got snapshot ${serial} of ${snapshot.catalog} (${digest})`,
    );
  }
  // JSON parses several times faster, but a digest reference covers only the YAML.
  const format = exact ? 'yaml' : 'json';
  const { bytes } = await explainWithdrawal(
    client.catalogDocument(name, { snapshot: reference, format }),
    snapshot,
  );
  const [expected, actual] = [digests[`catalog.${format}`], sha256(bytes)];
  if (actual !== expected) {
    throw mismatchError(`digest mismatch of ${name}: expected ${expected}, got ${actual}`);
  }
  const functions = parseFunctions(bytes, `snapshot ${serial} of ${name}`);
  return { side: { catalog: name, serial, digest }, catalog: { functions, entries } };
}

async function readPinnedSnapshot(
  client: RegistryClient,
  name: string,
  reference: string,
  pinned: PinnedCatalogReader,
): Promise<{ side: SnapshotSide; catalog: ComparedCatalog }> {
  const { files, serial } = await pinned.read(async (at) => ({
    'snapshot.json': (await client.snapshotDocument(name, at)).bytes,
    'catalog.json': (await client.catalogDocument(name, { snapshot: at, format: 'json' })).bytes,
  }));
  const where = `snapshot ${serial} of ${name}`;
  const { digests, entries } = JSON.parse(new TextDecoder().decode(files['snapshot.json'])) as Snapshot;
  const digest = digests['catalog.yaml'];
  if (!reference.startsWith('sha256:') && Number(reference) > serial) {
    throw mismatchError(
      `the registry lists snapshot ${reference} as the newest, but its signature is for ${serial}`,
    );
  }
  const functions = parseFunctions(files['catalog.json'], where);
  return { side: { catalog: name, serial, digest }, catalog: { functions, entries } };
}

function mismatchError(message: string): KrmhubError {
  return new KrmhubError('digest-mismatch', `cannot compare snapshots: ${message}`, {
    hint: 'Try again. If it fails again, a proxy may be changing the responses of the registry.',
  });
}

/** Explains a withdrawn snapshot: its name and digests stay after its bytes are erased. */
async function explainWithdrawal<T>(response: Promise<T>, { catalog, serial }: Snapshot): Promise<T> {
  try {
    return await response;
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'gone') throw error;
    const message = `cannot compare snapshot ${serial} of ${catalog}: it is withdrawn: ${error.message}`;
    throw new KrmhubError('gone', message, {
      hint: `Choose another snapshot: krmhub catalog history ${catalog}`,
      takedowns: error.takedowns,
      cause: error,
    });
  }
}
