import {
  type CatalogEntryRow,
  compareFunctionNames,
  RECIPE_API_VERSION,
  type RenderedEntry,
  renderCatalog,
  renderEntry,
} from '@krmhub/catalog';
import {
  type Digest,
  type FunctionDefinition,
  type FunctionName,
  type FunctionRuntime,
  SNAPSHOT_RENDITIONS,
  type SnapshotRendition,
  sha256,
} from '@krmhub/schema';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { AT, applySample } from './sample-records.js';

export interface SampleEntry {
  group?: string;
  kind: string;
  description?: string;
  publisher?: string;
  tags?: string[];
  versions?: string[];
  license?: string;
  runtime?: FunctionRuntime;
  /** Name of a field of its functionConfig. */
  field?: string;
  /** Name of the recipe's source. */
  source?: string;
}

/** A catalog entry that a build adds for an upstream entry, or removes. */
export type SamplePlace = SampleEntry | { group?: string; gone: string };

/** Creates a catalog if there is none, and builds a snapshot of it with these changes. */
export async function cutUpstream(
  store: RegistryStore,
  catalog: string,
  places: readonly SamplePlace[],
  options: { snapshot?: boolean } = {},
): Promise<void> {
  let current = await store.catalog(catalog);
  if (current === undefined) {
    await applySample(store, catalog, recipeText(catalog));
    current = (await store.catalog(catalog))!;
  }
  const serial = (current.newest?.serial ?? 0) + 1;
  const changed = places.map(placeOf);
  const held = await heldAfter(store, catalog, places);
  await store.commitSnapshot({
    catalog,
    expectedThroughEvent: current.throughEvent,
    throughEvent: await store.lastEvent(),
    changed,
    entries: places.flatMap((place) => ('gone' in place ? [] : [renderEntry(sampleDefinition(place))])),
    ...(options.snapshot !== false && {
      snapshot: {
        catalog,
        serial,
        previous: current.newest?.digests['catalog.yaml'] ?? null,
        digests: digestsOf(catalog, held),
        functions: held.length,
        createdAt: AT,
      },
    }),
  });
}

function placeOf(place: SamplePlace): CatalogEntryRow {
  const { group = 'vendor.example.org' } = place;
  if ('gone' in place) return { group, kind: place.gone, versions: [], shadowed: [], yanked: [] };
  const definition = sampleDefinition(place);
  const { digest } = renderEntry(definition);
  const versions = definition.versions.map(({ name }) => ({
    name,
    source: place.source ?? 'banana',
    definition: digest,
  }));
  return { group, kind: place.kind, versions, shadowed: [], yanked: [], entry: digest };
}

export function sampleDefinition(sample: SampleEntry): FunctionDefinition {
  const { group = 'vendor.example.org', kind, versions = ['v1'] } = sample;
  return {
    group,
    names: { kind },
    description: sample.description ?? `${kind} comes from upstream.`,
    publisher: sample.publisher ?? 'Vendor',
    versions: versions.map((name) => ({
      name,
      schema: {
        openAPIV3Schema: { type: 'object', properties: { [sample.field ?? 'size']: { type: 'string' } } },
      },
      idempotent: true,
      runtime: sample.runtime ?? { container: { image: 'registry.example.com/fn:v1.0.0' } },
      usage: 'https://example.com/usage.md',
      examples: ['https://example.com/example.yaml'],
      license: sample.license ?? 'MIT',
    })),
    ...(sample.tags && { tags: sample.tags }),
  };
}

/** A recipe without functions of the registry: snapshots that the test builds stay. */
function recipeText(catalog: string): string {
  return `apiVersion: ${RECIPE_API_VERSION}
kind: CatalogRecipe
metadata:
  name: ${catalog}
spec:
  sources:
  - name: banana
    functions:
      match:
      - group: nothing.example.org
`;
}

async function heldAfter(
  store: RegistryStore,
  catalog: string,
  places: readonly SamplePlace[],
): Promise<RenderedEntry[]> {
  const held = new Map<string, FunctionName & { entry: RenderedEntry }>();
  const serial = (await store.catalog(catalog))?.newest?.serial ?? 0;
  for await (const { group, kind, digest, yaml, json } of store.entryTexts(catalog, serial + 1)) {
    const entry = { digest, yaml: Buffer.from(yaml).toString(), json: Buffer.from(json).toString() };
    held.set(`${group}/${kind}`, { group, kind, entry });
  }
  for (const place of places) {
    const { group = 'vendor.example.org' } = place;
    if ('gone' in place) held.delete(`${group}/${place.gone}`);
    else {
      const { kind } = place;
      held.set(`${group}/${kind}`, { group, kind, entry: renderEntry(sampleDefinition(place)) });
    }
  }
  return [...held.values()].sort(compareFunctionNames).map(({ entry }) => entry);
}

function digestsOf(name: string, entries: readonly RenderedEntry[]): Record<SnapshotRendition, Digest> {
  const digests = SNAPSHOT_RENDITIONS.map((form) => [
    form,
    sha256([...renderCatalog(form, { name }, entries)].join('')),
  ]);
  return Object.fromEntries(digests) as Record<SnapshotRendition, Digest>;
}
