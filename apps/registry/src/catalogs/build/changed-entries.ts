import { setImmediate } from 'node:timers/promises';
import {
  type AccessStore,
  type CatalogEntryRow,
  type CatalogRecord,
  type EventStore,
  emptySelection,
  entryDefinition,
  type FunctionCandidates,
  type FunctionRecord,
  type FunctionStore,
  followsRegistryPolicies,
  functionCandidates,
  functionKey,
  hasRendering,
  isCandidate,
  isEmptySelection,
  isSameProvenance,
  isSameSelection,
  needsFacts,
  type OwnerClaimStore,
  type PolicyStore,
  type Recipe,
  type RenderedEntry,
  renderEntry,
  type Selection,
  type SelectionContext,
  type SigningPolicy,
  type SnapshotStore,
  type SourceRecord,
  type SourceStore,
  selectFunction,
  type UpstreamCandidates,
  versionFacts,
} from '@krmhub/catalog';
import type { Digest, FunctionDefinition, FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../../limits.js';
import { storedPolicies } from '../../store/stored-policies.js';

/**
 * UTF-16 code units of new entries that wait for the commit; more are stored before it. Each of these transactions waits
 * for the disk, and writes most pages of the indexes of digests again.
 */
const MAX_WAITING_LENGTH = 4_194_304;

/** What a snapshot is built from. */
export type EntryStore = Omit<FunctionStore, 'nearFunctions'> &
  SnapshotStore &
  SourceStore &
  EventStore &
  PolicyStore &
  Pick<AccessStore, 'access' | 'appliedAccess'> &
  Pick<OwnerClaimStore, 'ownerClaims'>;

export interface ChangedEntries {
  changed: CatalogEntryRow[];
  /** Whether an entry was added, changed or removed, or comes from another release or source than before. */
  snapshotChanged: boolean;
  /** Entries that `changed` names and that are not stored yet. */
  entries: Map<Digest, RenderedEntry>;
}

/**
 * Finds functions whose catalog entry changed since the last build. For a new recipe, for a new Access document, and if
 * new signing policies affect it, it compares all functions.
 */
export async function findChangedEntries(
  store: EntryStore,
  catalog: CatalogRecord,
  recipe: Recipe,
  known: {
    throughEvent: number;
    sources: readonly SourceRecord[];
    /** Whether everybody who may read the catalog may read a function; by rules that were read after `throughEvent`. */
    mayContain(name: FunctionName): boolean;
    /** What `changedFunctions` returns, if it was read. */
    changed?: readonly FunctionName[];
  },
): Promise<ChangedEntries> {
  const { throughEvent } = known;
  const follows = followsRegistryPolicies(recipe);
  // Read after `throughEvent`: what is applied meanwhile counts as newer than this build, which is repeated then.
  const policies = follows ? (await storedPolicies(store)).policies : undefined;
  const { sources, mayContain } = known;
  const comparison = new EntryComparison(store, catalog, recipe, { sources, policies, mayContain });
  const since = catalog.throughEvent;
  const isNew =
    since === 0 ||
    (follows && (await store.appliedPolicies(since, throughEvent))) ||
    (await store.appliedAccess(since, throughEvent));
  if (isNew) {
    await comparison.compareAll();
  } else {
    await comparison.compareNamed(
      known.changed ?? (await store.changedFunctions(since, throughEvent, catalog.name)),
    );
  }
  return comparison.result;
}

class EntryComparison {
  readonly result: ChangedEntries = { changed: [], snapshotChanged: false, entries: new Map() };
  readonly #store: EntryStore;
  readonly #catalog: CatalogRecord;
  readonly #recipe: Recipe;
  readonly #signatures: SelectionContext['signatures'];
  readonly #upstreamSources: boolean;
  readonly #policies: readonly SigningPolicy[] | undefined;
  readonly #mayContain: (name: FunctionName) => boolean;
  #waitingLength = 0;

  constructor(
    store: EntryStore,
    catalog: CatalogRecord,
    recipe: Recipe,
    {
      sources,
      policies,
      mayContain,
    }: {
      sources: readonly SourceRecord[];
      policies: readonly SigningPolicy[] | undefined;
      mayContain: (name: FunctionName) => boolean;
    },
  ) {
    this.#mayContain = mayContain;
    this.#policies = policies;
    this.#store = store;
    this.#catalog = catalog;
    this.#recipe = recipe;
    this.#signatures = new Map(sources.map(({ source, copy }) => [source, copy?.signatures ?? []]));
    this.#upstreamSources = recipe.sources.some((source) => source.catalog !== undefined);
  }

  get #isNewRecipe(): boolean {
    return this.#catalog.throughEvent === 0;
  }

  async compareAll(): Promise<void> {
    const left = new Set<string>();
    for await (const name of this.#store.latestEntryNames(this.#catalog.name)) left.add(nameKey(name));
    const readRows = async (names: readonly FunctionName[]) => {
      const known = names.filter((name) => left.delete(nameKey(name)));
      return known.length === 0 ? [] : this.#store.latestEntryRows(this.#catalog.name, known);
    };
    const compareFunctions = (functions: readonly FunctionCandidates[]) =>
      this.#compare(functions, (all) => readRows(all.flatMap(spelledNames)));
    for await (const batch of inBatches(this.#store.allFunctions())) {
      await compareFunctions(await this.#readCandidates(batch, batch));
    }
    if (this.#upstreamSources) {
      for await (const batch of inBatches(this.#store.allUpstreamCandidates(this.#catalog.name))) {
        const known = new Set((await this.#store.functions(batch)).map(functionKey));
        const functions = batch
          .filter((one) => !known.has(functionKey(one)))
          .flatMap(({ candidates: upstream }) => functionCandidates(this.#recipe, undefined, upstream) ?? []);
        await compareFunctions(await this.#withFacts(functions));
      }
    }
    // No source provides these any more.
    const names = [...left].map(keyedName);
    for (let start = 0; start < names.length; start += SERVER_LIMITS.buildBatch) {
      const rows = await readRows(names.slice(start, start + SERVER_LIMITS.buildBatch));
      for (const row of rows) this.#emptyEntry(row);
    }
  }

  /** Names may repeat a kind in other letter case. */
  async compareNamed(names: readonly FunctionName[]): Promise<void> {
    // Names of one function are compared together: each comparison finds the same change.
    const spellings = new Map<string, FunctionName[]>();
    for (const name of names)
      spellings.set(functionKey(name), [...(spellings.get(functionKey(name)) ?? []), name]);
    const functionNames = [...spellings.values()];
    for (let start = 0; start < functionNames.length; start += SERVER_LIMITS.buildBatch) {
      const batch = functionNames.slice(start, start + SERVER_LIMITS.buildBatch).flat();
      const functions = await this.#readCandidates(batch, await this.#store.functions(batch));
      await this.#compare(functions, (all) => {
        const spelled = [...all.flatMap(spelledNames), ...batch];
        return this.#store.latestEntryRows(this.#catalog.name, spelled.filter(isFirst));
      });
      await setImmediate();
    }
  }

  /** Reads the candidates of each function once, for all spellings of its kind among the names. */
  async #readCandidates(
    names: readonly FunctionName[],
    records: readonly FunctionRecord[],
  ): Promise<FunctionCandidates[]> {
    const upstream = new Map<string, UpstreamCandidates['candidates']>();
    if (this.#upstreamSources) {
      for (const one of await this.#store.upstreamCandidates(this.#catalog.name, names)) {
        upstream.set(functionKey(one), one.candidates);
      }
    }
    const byName = new Map<string, FunctionCandidates>();
    for (const { group, kind } of names)
      byName.set(functionKey({ group, kind }), { group, kind, releases: [] });
    for (const record of records) byName.set(functionKey(record), record);
    return this.#withFacts(
      [...byName].map(([key, { group, kind, releases }]) => {
        const own = releases.length === 0 ? undefined : { group, kind, releases };
        // A function without candidates may still have an entry row, which must be emptied.
        return (
          functionCandidates(this.#recipe, own, upstream.get(key) ?? new Map()) ?? { group, kind, releases }
        );
      }),
    );
  }

  async #withFacts(functions: readonly FunctionCandidates[]): Promise<FunctionCandidates[]> {
    if (!needsFacts(this.#recipe)) return [...functions];
    const known: FunctionCandidates[] = [];
    for (const one of functions) {
      const facts = new Map<string, ReturnType<typeof versionFacts>>();
      for (const summary of one.releases) {
        if (!isCandidate(this.#recipe, one, summary)) continue;
        const release = await this.#store.release(one.group, one.kind, summary.release);
        if (release !== undefined) facts.set(summary.release, versionFacts(release.definition));
      }
      known.push({ ...one, facts });
    }
    return known;
  }

  async #compare(
    functions: readonly FunctionCandidates[],
    readRows: (functions: readonly FunctionCandidates[]) => Promise<CatalogEntryRow[]>,
  ): Promise<void> {
    const rows = new Map<string, CatalogEntryRow[]>();
    for (const row of await readRows(functions)) {
      const key = functionKey(row);
      const others = rows.get(key);
      if (others === undefined) rows.set(key, [row]);
      else others.push(row);
    }
    const context = await this.#context(functions);
    // Rows of a catalog name nothing that its readers may not read, also not as refused.
    const selections = functions.map((one) =>
      this.#mayContain(one) ? selectFunction(this.#recipe, one, context) : emptySelection(one),
    );
    const changed: Selection[] = [];
    for (const selection of selections) {
      const known = rows.get(functionKey(selection)) ?? [];
      // Empties rows under another spelling of the kind.
      for (const row of known) if (row.kind !== selection.kind) this.#emptyEntry(row);
      const row = known.find(({ kind }) => kind === selection.kind);
      const same = row === undefined ? isEmptySelection(selection) : isSameSelection(selection, row);
      if (!same || (this.#isNewRecipe && isWrittenByRecipe(selection))) changed.push(selection);
    }
    await this.#render(changed, rows);
  }

  async #context(functions: readonly FunctionCandidates[]): Promise<SelectionContext> {
    const groups = this.#upstreamSources
      ? await this.#store.ownedGroups(functions.map(({ group }) => group))
      : new Set();
    return {
      clock: this.#catalog.clock,
      ownsGroup: (group) => groups.has(group),
      signatures: this.#signatures,
      ...defined({ policies: this.#policies }),
    };
  }

  async #render(changed: readonly Selection[], rows: ReadonlyMap<string, CatalogEntryRow[]>): Promise<void> {
    const { result } = this;
    const { definitions, stored } = await this.#readDefinitions(changed);
    for (const selection of changed) {
      const row = rows.get(functionKey(selection))?.find(({ kind }) => kind === selection.kind);
      if (selection.versions.length === 0) {
        if (row?.entry !== undefined) result.snapshotChanged = true;
        result.changed.push(selection);
        continue;
      }
      // An unchanged upstream entry was rendered when it was synced.
      const rendered = stored.get(selection.versions[0]!.definition);
      const definition = entryDefinition(selection, definitions, this.#recipe);
      const isStored = rendered !== undefined && hasRendering(definition, rendered);
      const entry = isStored ? rendered : renderEntry(definition);
      if (entry.digest === row?.entry && isSameSelection(selection, row)) continue;
      result.changed.push({ ...selection, entry: entry.digest });
      // Another release may have the same bytes: `snapshot.json` still must name the one that is selected.
      if (entry.digest !== row?.entry || !isSameProvenance(selection, row)) result.snapshotChanged = true;
      if (entry.digest === row?.entry) continue;
      if (isStored) continue;
      result.entries.set(entry.digest, entry);
      this.#waitingLength += entry.yaml.length + entry.json.length;
    }
    if (this.#waitingLength < MAX_WAITING_LENGTH) return;
    await this.#store.storeEntries([...result.entries.values()]);
    result.entries.clear();
    this.#waitingLength = 0;
  }

  /** Returns definitions by the digests that selections name; those of upstream entries also as stored. */
  async #readDefinitions(selections: readonly Selection[]): Promise<{
    definitions: Map<Digest, FunctionDefinition>;
    stored: Map<Digest, RenderedEntry>;
  }> {
    const definitions = new Map<Digest, FunctionDefinition>();
    const upstreamDigests = new Set<Digest>();
    const releases = new Map<Digest, FunctionName & { release: string }>();
    for (const { group, kind, versions } of selections) {
      for (const { release, definition } of versions) {
        if (release === undefined) upstreamDigests.add(definition);
        else releases.set(definition, { group, kind, release });
      }
    }
    const found = await this.#store.definitionsJson([...releases.values()]);
    for (const [index, [digest, { group, kind, release }]] of [...releases].entries()) {
      const json = found[index];
      if (json === undefined) throw new Error(`the store has no release ${group}/${kind}@${release}`);
      definitions.set(digest, JSON.parse(Buffer.from(json).toString()) as FunctionDefinition);
    }
    const stored = await this.#store.entries([...upstreamDigests]);
    for (const [digest, { json }] of stored) {
      // It was rendered from a normalized definition.
      definitions.set(digest, JSON.parse(json) as FunctionDefinition);
    }
    return { definitions, stored };
  }

  #emptyEntry(row: CatalogEntryRow): void {
    if (isEmptySelection(row)) return;
    if (row.entry !== undefined) this.result.snapshotChanged = true;
    this.result.changed.push(emptySelection(row));
  }
}

async function* inBatches<T>(items: AsyncIterable<T>): AsyncIterable<T[]> {
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

/** Returns the names, with every spelling of the kind, under which there may be an entry row. */
function spelledNames({ group, kind, upstream }: FunctionCandidates): FunctionName[] {
  const others = [...(upstream?.values() ?? [])].flatMap((entries) => entries.map((entry) => entry.kind));
  return [...new Set([kind, ...others])].map((spelling) => ({ group, kind: spelling }));
}

function isFirst({ group, kind }: FunctionName, index: number, all: readonly FunctionName[]): boolean {
  return all.findIndex((one) => one.group === group && one.kind === kind) === index;
}

/**
 * Reports whether the recipe affects the entry beyond selecting definitions: by a mirror, or by the order of sources.
 */
function isWrittenByRecipe({ versions }: Selection): boolean {
  return versions.some(({ rewritten, source }) => rewritten === true || source !== versions[0]!.source);
}

function nameKey({ group, kind }: FunctionName): string {
  return `${group}/${kind}`;
}

/** Returns the name of a key: no group has a slash. */
function keyedName(key: string): FunctionName {
  const slash = key.indexOf('/');
  return { group: key.slice(0, slash), kind: key.slice(slash + 1) };
}
