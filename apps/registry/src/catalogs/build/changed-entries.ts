import { setImmediate } from 'node:timers/promises';
import {
  type CatalogEntryRow,
  followsRegistryPolicies,
  functionKey,
  type RenderedEntry,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../../limits.js';
import { type ComparedCatalog, EntryComparison, type EntryStore } from './entry-comparison.js';
import { type KnownEntries, RenderedEntries } from './rendered-entries.js';
import { SharedBuild, withSameEntries } from './shared-build.js';

/** Changed entry rows of catalogs that are compared together: about 50 MB. */
const MAX_ROWS_TOGETHER = 50_000;

export interface ChangedEntries {
  changed: CatalogEntryRow[];
  /** Whether an entry was added, changed or removed, or comes from another release or source than before. */
  snapshotChanged: boolean;
  /** Entries that `changed` names and that are not stored yet. */
  entries: ReadonlyMap<Digest, RenderedEntry>;
  /** Of several new catalogs with the same entries. */
  shared?: SharedBuild;
}

/**
 * Finds functions whose catalog entry changed since the last build. For a new recipe, for a new Access document, and if
 * new signing policies affect it, it compares all functions. `throughEvent` was read before everything else, and the rules
 * before this call. Rules that were applied after `throughEvent` count as well: only the functions that changed would be
 * compared by them, and the others would count as compared. `named` is what `changedFunctions` returns, if it was read.
 * With `hasSameRules`, no new Access document changes what the catalog may contain.
 */
export async function findChangedEntries(
  store: EntryStore,
  compared: ComparedCatalog,
  throughEvent: number,
  { named, hasSameRules }: { named: readonly FunctionName[] | undefined; hasSameRules: boolean },
): Promise<ChangedEntries> {
  const rendered = new RenderedEntries(store);
  const comparison = new EntryComparison(store, rendered, compared);
  const { catalog, recipe } = compared;
  const since = catalog.throughEvent;
  const isNew =
    since === 0 ||
    (followsRegistryPolicies(recipe) && (await store.appliedPolicies(since))) ||
    (!hasSameRules && (await store.appliedAccess(since)));
  if (isNew) {
    await comparison.begin();
    for await (const batch of inBatches(store.allFunctions())) await comparison.compareBatch(batch);
    await comparison.end(inBatches);
  } else {
    const names = named ?? (await store.changedFunctions(since, throughEvent, catalog.name));
    for await (const batch of inBatches(bySpelling(names))) await comparison.compareNamed(batch.flat());
  }
  return { ...result(comparison), entries: rendered.waiting };
}

/** How catalogs are compared together. */
export interface Together {
  /** Entries that were rendered before. */
  known: KnownEntries;
  /** Called between batches of functions. Resolves with false to end early. */
  mayContinue(): Promise<boolean>;
  /** Called for a catalog that cannot be compared. */
  failed(name: string, error: unknown): Promise<void>;
}

/**
 * Compares all functions for several catalogs: functions are read, and entries rendered, once for all, and entries are
 * selected once for those with the same ones. Returns the changes of the catalogs, those with few first. If they are too
 * many, it leaves out the catalogs with the most, but not the first one. Returns none if it ended early.
 */
export async function compareTogether<Catalog extends ComparedCatalog>(
  store: EntryStore,
  catalogs: readonly Catalog[],
  { known, mayContinue, failed }: Together,
): Promise<(ChangedEntries & { of: Catalog })[]> {
  const rendered = new RenderedEntries(store, known);
  let all = withSameEntries(catalogs).map((of) => ({
    of,
    comparison: new EntryComparison(store, rendered, of[0]!),
  }));
  const each = async (work: (comparison: EntryComparison) => Promise<void>): Promise<void> => {
    for (const one of all) {
      if (!all.includes(one)) continue;
      try {
        await work(one.comparison);
        all = withoutMost(all);
      } catch (error) {
        all = all.filter((other) => other !== one);
        for (const { catalog } of one.of) await failed(catalog.name, error);
      }
    }
  };
  await each((comparison) => comparison.begin());
  for await (const batch of inBatches(store.allFunctions())) {
    await each((comparison) => comparison.compareBatch(batch));
    if (!(await mayContinue())) return [];
  }
  await each((comparison) => comparison.end(inBatches));
  // Each commit would store all of them.
  if (all.flatMap(({ of }) => of).length > 1) await rendered.storeAll();
  return all
    .flatMap(({ of: group, comparison }) => {
      const shared = group.length > 1 ? new SharedBuild(group) : undefined;
      const changes = { ...result(comparison), entries: rendered.waiting, ...defined({ shared }) };
      return group.map((of) => ({ of, ...changes }));
    })
    .sort((a, b) => a.changed.length - b.changed.length);
}

function withoutMost<One extends { comparison: EntryComparison }>(all: One[]): One[] {
  let sum = all.reduce((total, { comparison }) => total + comparison.rows, 0);
  if (sum <= MAX_ROWS_TOGETHER) return all;
  const left = [...all];
  while (sum > MAX_ROWS_TOGETHER && left.length > 1) {
    const most = left.slice(1).reduce((a, b) => (b.comparison.rows > a.comparison.rows ? b : a));
    sum -= most.comparison.rows;
    left.splice(left.indexOf(most), 1);
  }
  return left;
}

function result({ changed, snapshotChanged }: EntryComparison): Omit<ChangedEntries, 'entries'> {
  return { changed, snapshotChanged };
}

/** Yields the names of each function together: each comparison of one of them would find the same change. */
function* bySpelling(names: readonly FunctionName[]): Iterable<FunctionName[]> {
  const spellings = new Map<string, FunctionName[]>();
  for (const name of names)
    spellings.set(functionKey(name), [...(spellings.get(functionKey(name)) ?? []), name]);
  yield* spellings.values();
}

async function* inBatches<T>(items: AsyncIterable<T> | Iterable<T>): AsyncIterable<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < SERVER_LIMITS.buildBatch) continue;
    yield batch;
    batch = [];
    await setImmediate();
  }
  if (batch.length > 0) yield batch;
}
