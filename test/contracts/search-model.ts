import type { FunctionChange } from '@krmhub/catalog';
import type { Random } from '@krmhub/yaml/testing/random';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { AT, changeOf } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

/** Publishes, takes down and builds at random, and tracks the expected results. */
export class SearchModel {
  static readonly GROUP = 'random.example.com';
  static readonly CATALOGS = ['a', 'b', 'default'];
  static readonly KINDS = ['Ab', 'aB', 'Cd', 'CD', 'Ef'];
  readonly #store: RegistryStore;
  readonly #random: Random;
  /** By catalog and folded kind, the spelling of the kind there. */
  readonly #held = new Map(SearchModel.CATALOGS.map((catalog) => [catalog, new Map<string, string>()]));
  readonly #ours = new Map<string, FunctionChange>();
  #count = 0;

  constructor(store: RegistryStore, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  async change(): Promise<void> {
    const kind = SearchModel.KINDS[this.#random.below(SearchModel.KINDS.length)]!;
    const folded = kind.toLowerCase();
    const ours = this.#ours.get(folded);
    const what = this.#random.below(6);
    if (what < 4) return this.#cut(SearchModel.CATALOGS[this.#random.below(3)]!, kind);
    if (ours === undefined) {
      const change = changeOf({ group: SearchModel.GROUP, kind, release: `1.0.${this.#count++}` });
      await this.#store.commitFunction(change);
      this.#ours.set(folded, change);
      return;
    }
    const { revision } = (await this.#store.function(SearchModel.GROUP, kind))!;
    const { group, release } = ours;
    const takedown = { group, kind: ours.kind, release: release.release, digest: release.digest };
    await this.#store.commitTakedown({
      group,
      kind: ours.kind,
      expectedRevision: revision,
      takedowns: [{ ...takedown, at: AT, by: 'root', reason: 'bad' }],
    });
    this.#ours.delete(folded);
  }

  async #cut(catalog: string, kind: string): Promise<void> {
    const held = this.#held.get(catalog)!;
    const before = held.get(kind.toLowerCase());
    if (before !== undefined) {
      await cutUpstream(this.#store, catalog, [{ group: SearchModel.GROUP, gone: before }]);
      held.delete(kind.toLowerCase());
      return;
    }
    const description = `Number ${this.#count++}.`;
    await cutUpstream(this.#store, catalog, [
      { group: SearchModel.GROUP, kind, description, source: `in-${catalog}` },
    ]);
    held.set(kind.toLowerCase(), kind);
  }

  heldBy(catalog: string): string[] {
    const kinds = [...this.#held.get(catalog)!.keys()];
    const shown = (folded: string) => this.#shown(folded)!;
    return kinds.sort((a, b) => (shown(a) < shown(b) ? -1 : 1));
  }

  async expected(): Promise<object[]> {
    const folded = new Set([
      ...this.#ours.keys(),
      ...[...this.#held.values()].flatMap((held) => [...held.keys()]),
    ]);
    const rows = [...folded].map((name) => {
      const release = this.#ours.get(name)?.release.release;
      const from = SearchModel.CATALOGS.filter((catalog) => this.#held.get(catalog)!.has(name)).map(
        (catalog) => ({
          catalog,
          source: `in-${catalog}`,
        }),
      );
      return { kind: this.#shown(name)!, release, from: release === undefined ? from : undefined };
    });
    return rows.sort((a, b) => (a.kind < b.kind ? -1 : 1));
  }

  /** The spelling of the kind that search shows. */
  #shown(folded: string): string | undefined {
    const ours = this.#ours.get(folded)?.kind;
    return ours ?? SearchModel.CATALOGS.map((catalog) => this.#held.get(catalog)!.get(folded)).find(Boolean);
  }
}
