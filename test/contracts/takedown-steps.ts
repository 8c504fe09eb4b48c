import type { CatalogEntryRow, FunctionChange, FunctionTakedown, SegmentChanges } from '@krmhub/catalog';
import {
  type Digest,
  SNAPSHOT_RENDITIONS,
  type SnapshotRendition,
  sha256,
  type Takedown,
} from '@krmhub/schema';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, applySample, changeOf } from './sample-records.js';

/** A function with two releases, its takedowns, and snapshots that contain it. */

export const NAME = { group: 'example.com', kind: 'Bad' };
export const LATER = '2030-03-04T05:06:07.890Z';

export function takedownOf(release: FunctionChange['release'], reason = 'malware'): Takedown {
  const { group, kind, digest } = release;
  return { group, kind, release: release.release, digest, at: LATER, by: 'root', reason };
}

export function takedownSteps(harness: () => RegistryStoreHarness) {
  const store = (): RegistryStore => harness().store;
  const one = changeOf({ kind: 'Bad', release: '1.0.0', tags: ['evil'], description: 'Wicked words.' });
  const two = changeOf({ kind: 'Bad', release: '2.0.0', tags: ['fair'] }, 1);

  /** A planned takedown; `left` is the change whose search document stays. */
  const planned = (
    change: FunctionChange,
    expectedRevision: number,
    left?: FunctionChange,
  ): FunctionTakedown => ({
    ...NAME,
    expectedRevision,
    takedowns: [takedownOf(change.release)],
    origin: { credential: 't1' },
    ...(left && { search: left.search }),
  });

  const place = (
    change: FunctionChange,
    entry: string | undefined = change.release.release,
  ): CatalogEntryRow => ({
    ...NAME,
    versions: [
      { name: 'v1', source: 'ours', release: change.release.release, definition: change.release.digest },
    ],
    shadowed: [],
    yanked: [],
    ...(entry !== undefined && { entry: sha256(entry) }),
  });

  const apply = (name: string) => applySample(store(), name);

  /** Builds a snapshot whose entries are the names of releases. */
  const cut = async (
    name: string,
    changed: CatalogEntryRow[],
    entries: string[],
    throughEvent?: number,
    segments?: SegmentChanges,
  ) => {
    const catalog = (await store().catalog(name))!;
    const serial = (catalog.newest?.serial ?? 0) + 1;
    const through = throughEvent ?? (await store().lastEvent());
    await store().commitSnapshot({
      catalog: name,
      expectedThroughEvent: catalog.throughEvent,
      throughEvent: through,
      changed,
      entries: entries.map((text) => ({ digest: sha256(text), yaml: text, json: text })),
      snapshot: {
        catalog: name,
        serial,
        previous: catalog.newest?.digests['catalog.yaml'] ?? null,
        digests: digestsOf(`${name} ${serial}`),
        functions: changed.length,
        createdAt: AT,
      },
      ...(segments === undefined ? {} : { segments }),
    });
  };

  return { store, one, two, planned, place, apply, cut };
}

export function digestsOf(text: string): Record<SnapshotRendition, Digest> {
  return Object.fromEntries(SNAPSHOT_RENDITIONS.map((form) => [form, sha256(`${form} ${text}`)])) as Record<
    SnapshotRendition,
    Digest
  >;
}
