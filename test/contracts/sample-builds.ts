import type { CatalogEntryRow, SnapshotBuild } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_RENDITIONS, type SnapshotRendition, sha256 } from '@krmhub/schema';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { AT, applySample } from './sample-records.js';

/** The texts of sample entries, by their digests. */
const texts = new Map(['one', 'two', 'three', "a\u0001b '", '漢字'].map((text) => [sha256(text), text]));

export const entryOf = (text: string) => ({ digest: sha256(text), yaml: text, json: JSON.stringify(text) });

/** Returns an entry row of a catalog; `entry` is the text of its entry, which is remembered. */
export function place(
  kind: string,
  entry: string | undefined,
  yanked: CatalogEntryRow['yanked'] = [],
): CatalogEntryRow {
  if (entry !== undefined) texts.set(sha256(entry), entry);
  const versions =
    entry === undefined
      ? []
      : [{ name: 'v1', source: 'ours', release: '1.0.0', definition: sha256(`${kind} ${entry}`) }];
  return {
    group: 'example.com',
    kind,
    versions,
    shadowed: [],
    yanked,
    ...(entry !== undefined && { entry: sha256(entry) }),
  };
}

/** Returns the digests of a snapshot with this content. */
export function digestsOf(text: string): Record<SnapshotRendition, Digest> {
  return Object.fromEntries(SNAPSHOT_RENDITIONS.map((form) => [form, sha256(`${form} ${text}`)])) as Record<
    SnapshotRendition,
    Digest
  >;
}

/** Applies recipes, and builds snapshots of sample entries. */
export function sampleBuilds(store: () => RegistryStore) {
  const apply = (name: string, recipe: string, expectedRecipe?: string) =>
    applySample(store(), name, recipe, expectedRecipe);

  /** Builds from the stored state; `text` is the content of a new snapshot. */
  const cut = async (
    name: string,
    changed: CatalogEntryRow[],
    text?: string,
    more: Partial<SnapshotBuild> = {},
  ) => {
    const throughEvent = await store().lastEvent();
    const catalog = await store().catalog(name);
    const serial = (catalog?.newest?.serial ?? 0) + 1;
    const snapshot = text !== undefined && {
      catalog: name,
      serial,
      previous: catalog?.newest?.digests['catalog.yaml'] ?? null,
      digests: digestsOf(text),
      ...(text === 'b' && { labels: { team: 'a', 'app.example.com/name': '漢' } }),
      functions: 1,
      createdAt: AT,
    };
    return store().commitSnapshot({
      catalog: name,
      expectedThroughEvent: catalog?.throughEvent ?? 0,
      throughEvent,
      changed,
      entries: changed.flatMap(({ entry }) => (entry === undefined ? [] : [entryOf(texts.get(entry)!)])),
      ...(snapshot && {
        snapshot,
        event: { type: 'catalog.cut', at: AT, by: 'krmhub', catalog: name, serial },
      }),
      ...more,
    });
  };
  const kindsAt = async (name: string, serial: number) =>
    (await store().snapshotEntryRows(name, serial)).map(
      ({ kind, entry }) => `${kind} ${entry && texts.get(entry)}`,
    );
  return { apply, cut, kindsAt };
}
