import type { NewEvent, SourceCopy, SourceRecord, SourceRefresh, UpstreamEntry } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { expect } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT } from './sample-records.js';

/** Sources of recipes and what their polls find, for the contract of their store. */

export const SOURCE_URL = 'https://upstream.example.com/catalog.yaml';
/** Times in hours after AT. */
export const hours = (count: number) => new Date(Date.parse(AT) + count * 3_600_000).toISOString();
export const renderedOf = (text: string) => ({
  digest: sha256(text),
  yaml: text,
  json: JSON.stringify(text),
});

export function entryOf(kind: string, text = kind, more: Partial<UpstreamEntry> = {}): UpstreamEntry {
  return {
    group: 'up.example.com',
    kind,
    definition: sha256(text),
    versions: [
      {
        name: 'v1',
        license: 'Apache-2.0',
        network: false,
        storage: true,
        references: ['a:v1'],
        unpinned: ['a:v1'],
      },
      { name: 'v1alpha1', license: 'MIT', network: true, storage: false, references: ['b'], unpinned: [] },
    ],
    tags: ['漢'],
    publisher: "Somebody's",
    runtimes: ['container'],
    licenses: ['Apache-2.0', 'MIT'],
    firstSeen: AT,
    ...more,
  };
}

export const copyOf = (text: string): SourceCopy => ({
  digest: sha256(text),
  size: text.length,
  fetchedAt: AT,
  validators: { etag: '"a"' },
  entries: 2,
  invalid: [{ entry: 1, group: 'up.example.com', message: 'it has no kind' }],
  invalidEntries: 1,
  signatures: [{ signer: { type: 'key', fingerprint: sha256('key') }, receivedAt: AT }],
  snapshot: { catalog: 'theirs', serial: 3, expires: hours(24) },
});

export function sourceSteps(harness: () => RegistryStoreHarness) {
  const store = (): RegistryStore => harness().store;
  const apply = async (name: string, sources: Record<string, string>, at = AT) => {
    const recipe = JSON.stringify({ sources, at });
    const expectedRecipe = (await store().catalog(name))?.recipe;
    return store().applyRecipe({
      name,
      recipe,
      expectedRecipe,
      sources: Object.entries(sources).map(([source, url]) => ({ source, url })),
      at,
      by: 'admin',
      event: { type: 'catalog.applied', at, by: 'admin', catalog: name },
    });
  };
  const found = async (catalog: string, source: string): Promise<SourceRecord> => {
    const record = await store().source(catalog, source);
    expect(record).toBeDefined();
    return record!;
  };
  const eventOf = (type: NewEvent['type'], catalog: string, source?: string, at = AT): NewEvent => ({
    type,
    at,
    by: 'krmhub',
    catalog,
    ...(source !== undefined && { source }),
  });

  /** A poll that found these entries in addition to those of the source. */
  const refresh = async (
    catalog: string,
    source: string,
    put: UpstreamEntry[],
    more: Partial<SourceRefresh> & { at?: string } = {},
  ) => {
    await store().storeEntries(put.map(({ kind }) => renderedOf(texts.get(kind) ?? kind)));
    return store().commitRefresh(resultOf(await found(catalog, source), put, more));
  };
  const resultOf = (
    expected: SourceRecord,
    put: UpstreamEntry[],
    more: Partial<SourceRefresh> & { at?: string } = {},
  ): SourceRefresh => {
    const { at = AT, ...parts } = more;
    const { catalog, source } = expected;
    const { failure: _, ...succeeded } = expected;
    const removed = parts.removed ?? [];
    return {
      expected,
      record: { ...succeeded, checkedAt: at, nextAt: hours(1), copy: copyOf(at) },
      put,
      removed,
      reevaluate: false,
      purgeGoneBefore: hours(-90 * 24),
      ...(put.length + removed.length > 0 && { event: eventOf('source.changed', catalog, source, at) }),
      ...parts,
    };
  };
  /** Rendered texts of kinds whose text differs from their name. */
  const texts = new Map<string, string>();
  const kindsOf = async (catalog: string, source: string) =>
    (await store().sourceEntries(catalog, source)).map(({ kind }) => kind);
  const all = async (catalog: string) => {
    const offers = [];
    for await (const { group, kind, candidates: by } of store().allUpstreamCandidates(catalog)) {
      offers.push(`${group}/${kind} ${[...by.keys()].join(' ')}`);
    }
    return offers;
  };
  const changed = async (catalog: string, after: number) =>
    (await store().changedFunctions(after, await store().lastEvent(), catalog)).map(({ kind }) => kind);
  return { store, apply, found, eventOf, refresh, resultOf, texts, kindsOf, all, changed };
}
