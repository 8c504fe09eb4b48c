import {
  entryDefinition,
  type FunctionReader,
  hasRendering,
  type Recipe,
  type RenderedEntry,
  type RenderedEntryStore,
  renderEntry,
  type Selection,
} from '@krmhub/catalog';
import type { Digest, FunctionDefinition, FunctionName } from '@krmhub/schema';
import type { LRUCache } from 'lru-cache';

/**
 * UTF-16 code units of new entries that wait for the commit; more are stored before it. Each of these transactions waits
 * for the disk, and writes most pages of the indexes of digests again.
 */
const MAX_WAITING_LENGTH = 4_194_304;

/** The digests of stored entries by what they are rendered from. */
export type KnownEntries = LRUCache<string, Digest>;

type RenderStore = FunctionReader & RenderedEntryStore;

/** Renders the entries of selections. Catalogs that are built together share it, and so what is rendered. */
export class RenderedEntries {
  /** Entries that are not stored yet. */
  readonly waiting = new Map<Digest, RenderedEntry>();
  readonly #store: RenderStore;
  readonly #known: KnownEntries | undefined;
  /** Keys of waiting entries: they become known when these are stored. */
  readonly #waitingKeys = new Map<string, Digest>();
  #waitingLength = 0;

  /** `known` contains only entries that no takedown has deleted. */
  constructor(store: RenderStore, known?: KnownEntries) {
    this.#store = store;
    this.#known = known;
  }

  /** Returns the digests of the entries of selections that have versions. `storedOf` returns one that is stored. */
  async digests(
    selections: readonly Selection[],
    recipe: Recipe,
    storedOf: (selection: Selection) => Digest | undefined,
  ): Promise<Digest[]> {
    const keys = selections.map(sharedKey);
    const shared = keys.map((key) => key && (this.#waitingKeys.get(key) ?? this.#known?.get(key)));
    const missing = selections.filter((_, at) => shared[at] === undefined);
    const { definitions, stored } = await this.#readDefinitions(missing);
    return selections.map((selection, at) => {
      const found = shared[at];
      if (found !== undefined) return found as Digest;
      // An unchanged upstream entry was rendered when it was synced.
      const rendered = stored.get(selection.versions[0]!.definition);
      const definition = entryDefinition(selection, definitions, recipe);
      if (rendered !== undefined && hasRendering(definition, rendered)) return rendered.digest;
      const entry = renderEntry(definition);
      if (entry.digest !== storedOf(selection)) this.#add(entry, keys[at]);
      return entry.digest;
    });
  }

  #add(entry: RenderedEntry, key: string | undefined): void {
    if (key !== undefined) this.#waitingKeys.set(key, entry.digest);
    if (this.waiting.has(entry.digest)) return;
    this.waiting.set(entry.digest, entry);
    this.#waitingLength += entry.yaml.length + entry.json.length;
  }

  /** Stores what waits if it is much. */
  async storeMany(): Promise<void> {
    if (this.#waitingLength >= MAX_WAITING_LENGTH) await this.storeAll();
  }

  async storeAll(): Promise<void> {
    if (this.waiting.size > 0) await this.#store.storeEntries([...this.waiting.values()]);
    for (const [key, digest] of this.#waitingKeys) this.#known?.set(key, digest);
    this.waiting.clear();
    this.#waitingKeys.clear();
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
    if (releases.size > 0) {
      const found = await this.#store.definitionsJson([...releases.values()]);
      for (const [index, [digest, { group, kind, release }]] of [...releases].entries()) {
        const json = found[index];
        if (json === undefined) throw new Error(`the store has no release ${group}/${kind}@${release}`);
        definitions.set(digest, JSON.parse(Buffer.from(json).toString()) as FunctionDefinition);
      }
    }
    const stored = await this.#store.entries([...upstreamDigests]);
    for (const [digest, { json }] of stored) {
      // It was rendered from a normalized definition.
      definitions.set(digest, JSON.parse(json) as FunctionDefinition);
    }
    return { definitions, stored };
  }
}

/**
 * Returns what the entry is rendered from. Undefined if the recipe matters too: its rewrite rules, or with upstream
 * entries the order of its sources.
 */
function sharedKey({ group, kind, versions }: Selection): string | undefined {
  if (versions.some(({ release, rewritten }) => release === undefined || rewritten === true))
    return undefined;
  const parts = versions.map(({ name, release, definition }) => `${name}@${release} ${definition}`);
  return `${group}/${kind} ${parts.join(' ')}`;
}
