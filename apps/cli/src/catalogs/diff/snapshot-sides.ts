import type { RegistryClient } from '@krmhub/api/client';
import type { ComparedCatalog } from '@krmhub/catalog';
import type { Digest, Snapshot } from '@krmhub/schema';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { withCatalogHint } from '../../registry/catalog-name.js';
import { functionsOf } from './read-catalog.js';

/** A snapshot of a catalog, read and checked. */
export interface SnapshotSide {
  catalog: string;
  serial: number;
  /** Of catalog.yaml. */
  digest: Digest;
}

/** Newest snapshots among which the two to compare are looked for. */
const MAX_LOOKED_AT = 100;

/** Which two snapshots are meant: those that were named, else the newest and the one before it that stand. */
export async function chooseSnapshots(
  client: RegistryClient,
  name: string,
  from: string | undefined,
  to: string | undefined,
): Promise<{ from: string; to: string; passedOver: number[] }> {
  if (from !== undefined && to !== undefined) return { from, to, passedOver: [] };
  const { snapshots } = await withCatalogHint(client.snapshots(name, MAX_LOOKED_AT));
  const standing = snapshots.filter(({ withdrawn }) => withdrawn === undefined);
  const [newest, earlier] = standing;
  if (newest === undefined || (from === undefined && earlier === undefined)) {
    const withdrawn = snapshots.length > standing.length ? ' that stands; others were withdrawn' : '';
    const what = newest === undefined ? 'no snapshot' : 'one snapshot';
    throw new KrmhubError('not-found', `the catalog ${name} has ${what}${withdrawn}, and two are compared`, {
      hint: `\`krmhub catalog history ${name}\` lists them; each change of the catalog makes one.`,
    });
  }
  const last = from ?? String(earlier!.serial);
  const passedOver =
    from === undefined
      ? snapshots.filter(({ withdrawn, serial }) => withdrawn && serial > earlier!.serial)
      : [];
  return { from: last, to: String(newest.serial), passedOver: passedOver.map(({ serial }) => serial) };
}

/** A snapshot's functions and what its `snapshot.json` says of them. A digest names the bytes of catalog.yaml. */
export async function readSnapshot(
  client: RegistryClient,
  name: string,
  reference: string,
): Promise<{ side: SnapshotSide; catalog: ComparedCatalog }> {
  const snapshot = await withCatalogHint(client.snapshot(name, reference));
  const { serial, digests, entries } = snapshot;
  const digest = digests['catalog.yaml'];
  const pinned = reference.startsWith('sha256:');
  if (snapshot.catalog !== name || (pinned ? digest : String(serial)) !== reference) {
    throw mismatch(`${client.url} answers with ${digest} of ${snapshot.catalog}, snapshot ${serial}`);
  }
  // JSON is read several times faster, but only the YAML is what a digest names.
  const format = pinned ? 'yaml' : 'json';
  const { bytes } = await explained(client.catalogDocument(name, { snapshot: reference, format }), snapshot);
  const [expected, actual] = [digests[`catalog.${format}`], sha256(bytes)];
  if (actual !== expected) {
    throw mismatch(`the catalog has to have the digest ${expected}, and has ${actual}`);
  }
  const functions = functionsOf(bytes, `snapshot ${serial} of ${name}`);
  return { side: { catalog: name, serial, digest }, catalog: { functions, entries } };
}

function mismatch(message: string): KrmhubError {
  return new KrmhubError('digest-mismatch', `${message}; nothing is compared`, {
    hint: 'Try again; if it stays so, something between you and the registry changes its answers.',
  });
}

/** Names and digests of a snapshot stay when its bytes go. */
async function explained<T>(answer: Promise<T>, { catalog, serial }: Snapshot): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'gone') throw error;
    const message = `snapshot ${serial} of ${catalog} was withdrawn: ${error.message}`;
    throw new KrmhubError('gone', message, {
      hint: `Compare others: \`krmhub catalog history ${catalog}\` says which still stand.`,
      takedowns: error.takedowns,
      cause: error,
    });
  }
}
