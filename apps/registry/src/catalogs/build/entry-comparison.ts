import {
  type AccessReader,
  type CatalogEntryRow,
  type CatalogRecord,
  type EventStore,
  emptySelection,
  type FunctionCandidates,
  type FunctionRecord,
  type FunctionStore,
  functionCandidates,
  functionKey,
  hasUpstreams,
  isCandidate,
  isEmptySelection,
  isSameProvenance,
  isSameSelection,
  needsFacts,
  type OwnerClaimReader,
  type PolicyStore,
  type Recipe,
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
import type { RenderedEntries } from './rendered-entries.js';

/** What a snapshot is built from. */
export type EntryStore = Omit<FunctionStore, 'nearFunctions'> &
  SnapshotStore &
  SourceStore &
  EventStore &
  PolicyStore &
  AccessReader &
  OwnerClaimReader;

/** What the entries of a catalog are selected by. */
export interface ComparedCatalog {
  catalog: CatalogRecord;
  recipe: Recipe;
  sources: readonly SourceRecord[];
  policies: readonly SigningPolicy[] | undefined;
  /** Whether everybody who may read the catalog may read a function. */
  mayContain(name: FunctionName): boolean;
  /** What decides that: `catalogReaderRules`. */
  readerRules: Digest;
}

/** Compares the entries that a catalog should have with those that it has. */
export class EntryComparison {
  readonly changed: CatalogEntryRow[] = [];
  /** Whether an entry was added, changed or removed, or comes from another release or source than before. */
  snapshotChanged = false;
  readonly #store: EntryStore;
  readonly #rendered: RenderedEntries;
  readonly #of: ComparedCatalog;
  readonly #signatures: SelectionContext['signatures'];
  readonly #upstreamSources: boolean;
  /** While all functions are compared, the names of entry rows that were not compared yet. */
  readonly #left = new Set<string>();

  constructor(store: EntryStore, rendered: RenderedEntries, of: ComparedCatalog) {
    this.#store = store;
    this.#rendered = rendered;
    this.#of = of;
    this.#signatures = new Map(of.sources.map(({ source, copy }) => [source, copy?.signatures ?? []]));
    this.#upstreamSources = hasUpstreams(of.recipe);
  }

  /** Rows, and names of rows, in memory. */
  get rows(): number {
    return this.changed.length + this.#left.size;
  }

  /** Begins to compare all functions. */
  async begin(): Promise<void> {
    for await (const name of this.#store.latestEntryNames(this.#of.catalog.name))
      this.#left.add(nameKey(name));
  }

  /** Compares functions of the registry. Call it with all of them, in batches, after `begin`. */
  async compareBatch(batch: readonly FunctionRecord[]): Promise<void> {
    const concerned = batch.filter((one) => this.#concerns(one));
    if (concerned.length > 0) await this.#compareAndForget(await this.#readCandidates(concerned, concerned));
  }

  /** Compares functions that only upstream catalogs have, and empties the entries of those that no source has. */
  async end(inBatches: <T>(items: AsyncIterable<T>) => AsyncIterable<T[]>): Promise<void> {
    if (this.#upstreamSources) {
      const { catalog, recipe } = this.#of;
      for await (const batch of inBatches(this.#store.allUpstreamCandidates(catalog.name))) {
        const known = new Set((await this.#store.functions(batch)).map(functionKey));
        const functions = batch
          .filter((one) => !known.has(functionKey(one)))
          .flatMap(({ candidates: upstream }) => functionCandidates(recipe, undefined, upstream) ?? []);
        await this.#compareAndForget(await this.#withFacts(functions));
      }
    }
    const names = [...this.#left].map(keyedName);
    for (let start = 0; start < names.length; start += SERVER_LIMITS.buildBatch) {
      const rows = await this.#readLeft(names.slice(start, start + SERVER_LIMITS.buildBatch));
      for (const row of rows) this.#emptyEntry(row);
    }
  }

  /** Compares functions. Names may repeat a kind in other letter case. */
  async compareNamed(names: readonly FunctionName[]): Promise<void> {
    const functions = await this.#readCandidates(names, await this.#store.functions(names));
    await this.#compare(functions, (all) => {
      const spelled = [...all.flatMap(spelledNames), ...names];
      return this.#store.latestEntryRows(this.#of.catalog.name, spelled.filter(isFirst));
    });
  }

  /** Reports whether a function has an entry row, or may get one: most catalogs have few of all functions. */
  #concerns(one: FunctionRecord): boolean {
    return (
      this.#upstreamSources ||
      this.#left.has(nameKey(one)) ||
      one.releases.some((release) => isCandidate(this.#of.recipe, one, release))
    );
  }

  #compareAndForget(functions: readonly FunctionCandidates[]): Promise<void> {
    return this.#compare(functions, (all) => this.#readLeft(all.flatMap(spelledNames)));
  }

  /** Reads entry rows that were not compared yet. */
  async #readLeft(names: readonly FunctionName[]): Promise<CatalogEntryRow[]> {
    const known = names.filter((name) => this.#left.delete(nameKey(name)));
    return known.length === 0 ? [] : this.#store.latestEntryRows(this.#of.catalog.name, known);
  }

  /** Reads the candidates of each function once, for all spellings of its kind among the names. */
  async #readCandidates(
    names: readonly FunctionName[],
    records: readonly FunctionRecord[],
  ): Promise<FunctionCandidates[]> {
    const upstream = new Map<string, UpstreamCandidates['candidates']>();
    if (this.#upstreamSources) {
      for (const one of await this.#store.upstreamCandidates(this.#of.catalog.name, names)) {
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
          functionCandidates(this.#of.recipe, own, upstream.get(key) ?? new Map()) ?? {
            group,
            kind,
            releases,
          }
        );
      }),
    );
  }

  /** Adds the facts of the candidates' definitions, which are read together. */
  async #withFacts(functions: readonly FunctionCandidates[]): Promise<FunctionCandidates[]> {
    const { recipe } = this.#of;
    if (!needsFacts(recipe)) return [...functions];
    const wanted = functions.flatMap((one) =>
      one.releases
        .filter((summary) => isCandidate(recipe, one, summary))
        .map(({ release }) => ({ group: one.group, kind: one.kind, release })),
    );
    const known = new Map<string, Map<string, ReturnType<typeof versionFacts>>>();
    for (let start = 0; start < wanted.length; start += SERVER_LIMITS.buildBatch) {
      const batch = wanted.slice(start, start + SERVER_LIMITS.buildBatch);
      const definitions = await this.#store.definitionsJson(batch);
      for (const [at, { release, ...name }] of batch.entries()) {
        const json = definitions[at];
        if (json === undefined) continue;
        const facts = known.get(functionKey(name)) ?? new Map();
        known.set(functionKey(name), facts);
        facts.set(release, versionFacts(JSON.parse(Buffer.from(json).toString()) as FunctionDefinition));
      }
    }
    return functions.map((one) => ({ ...one, facts: known.get(functionKey(one)) ?? new Map() }));
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
      this.#of.mayContain(one) ? selectFunction(this.#of.recipe, one, context) : emptySelection(one),
    );
    const isNewRecipe = this.#of.catalog.throughEvent === 0;
    const changed: Selection[] = [];
    for (const selection of selections) {
      const known = rows.get(functionKey(selection)) ?? [];
      // Empties rows under another spelling of the kind.
      for (const row of known) if (row.kind !== selection.kind) this.#emptyEntry(row);
      const row = known.find(({ kind }) => kind === selection.kind);
      const same = row === undefined ? isEmptySelection(selection) : isSameSelection(selection, row);
      if (!same || (isNewRecipe && isWrittenByRecipe(selection))) changed.push(selection);
    }
    await this.#render(changed, rows);
  }

  async #context(functions: readonly FunctionCandidates[]): Promise<SelectionContext> {
    const groups = this.#upstreamSources
      ? await this.#store.ownedGroups(functions.map(({ group }) => group))
      : new Set();
    return {
      clock: this.#of.catalog.clock,
      ownsGroup: (group) => groups.has(group),
      signatures: this.#signatures,
      ...defined({ policies: this.#of.policies }),
    };
  }

  async #render(changed: readonly Selection[], rows: ReadonlyMap<string, CatalogEntryRow[]>): Promise<void> {
    const selected = changed.filter(({ versions }) => versions.length > 0);
    const digests = await this.#rendered.digests(
      selected,
      this.#of.recipe,
      (selection) => rowOf(rows, selection)?.entry,
    );
    const entries = new Map(selected.map((selection, at) => [selection, digests[at]!]));
    for (const selection of changed) {
      const row = rowOf(rows, selection);
      const entry = entries.get(selection);
      if (entry === undefined) {
        if (row?.entry !== undefined) this.snapshotChanged = true;
        this.changed.push(selection);
        continue;
      }
      if (entry === row?.entry && isSameSelection(selection, row)) continue;
      this.changed.push({ ...selection, entry });
      // Another release may have the same bytes: `snapshot.json` still must name the one that is selected.
      if (entry !== row?.entry || !isSameProvenance(selection, row)) this.snapshotChanged = true;
    }
    await this.#rendered.storeMany();
  }

  #emptyEntry(row: CatalogEntryRow): void {
    if (isEmptySelection(row)) return;
    if (row.entry !== undefined) this.snapshotChanged = true;
    this.changed.push(emptySelection(row));
  }
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

function rowOf(
  rows: ReadonlyMap<string, readonly CatalogEntryRow[]>,
  selection: Selection,
): CatalogEntryRow | undefined {
  return rows.get(functionKey(selection))?.find(({ kind }) => kind === selection.kind);
}

function nameKey({ group, kind }: FunctionName): string {
  return `${group}/${kind}`;
}

/** Returns the name of a key: no group has a slash. */
function keyedName(key: string): FunctionName {
  const slash = key.indexOf('/');
  return { group: key.slice(0, slash), kind: key.slice(slash + 1) };
}
