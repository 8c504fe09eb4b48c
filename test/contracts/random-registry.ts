import type { FunctionChange } from '@krmhub/catalog';
import type { Random } from '@krmhub/yaml/testing/random';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { AT, changeOf } from './sample-records.js';
import { cutUpstream, type SamplePlace } from './sample-upstream.js';

const GROUPS = ['example.com', 'vendor.example.org'];
const KINDS = [
  'SetLabels',
  'Setlabels',
  'PeelBanana',
  'PEELbanana',
  'Weigh',
  'RenderChart',
  'Kubeval',
  'Drop',
];
const TAGS = ['mutator', 'validator', 'fruit'];
const CATALOGS = ['another', 'default', 'zoo'];
/** More than a commit and a search write to the index. */
const MANY = 70;

/** Changes a registry at random: releases, their lifecycle, takedowns, upstream functions, and deleted catalogs. */
export class RandomRegistry {
  readonly #store: RegistryStore;
  readonly #random: Random;
  /** By group and folded kind: the releases that are left, oldest first. */
  readonly #functions = new Map<string, FunctionChange[]>();
  /** By catalog, what it has: group and kind. */
  readonly #held = new Map(CATALOGS.map((catalog) => [catalog, new Map<string, SamplePlace>()]));
  #count = 0;

  constructor(store: RegistryStore, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  async change(): Promise<void> {
    const random = this.#random;
    const what = random.below(20);
    const catalog = random.pick(CATALOGS);
    if (what < 7) return this.#publish();
    if (what < 9) return this.#lifecycle();
    if (what < 12) return this.#takeDown();
    if ((await this.#store.deletedCatalog(catalog)) !== undefined) return this.#restore(catalog);
    if (what === 19 && (await this.#store.catalog(catalog)) !== undefined) return this.#delete(catalog);
    await this.#build(catalog, what === 18 ? MANY : 1 + random.below(3));
  }

  async #publish(): Promise<void> {
    const random = this.#random;
    const group = random.pick(GROUPS);
    let kind = random.pick(KINDS);
    const key = `${group}/${kind.toLowerCase()}`;
    const releases = this.#functions.get(key) ?? [];
    kind = releases[0]?.kind ?? kind;
    const change = changeOf(
      {
        group,
        kind,
        release: `1.${this.#count++}.0`,
        description: `Number ${this.#count} of ${random.pick(TAGS)}.`,
        tags: random.some(TAGS, 0.5),
        publishedAt: new Date(Date.UTC(2030, 0, 1 + this.#count)).toISOString(),
      },
      await this.#revision(group, kind),
    );
    await this.#store.commitFunction(change);
    this.#functions.set(key, [...releases, change]);
  }

  async #lifecycle(): Promise<void> {
    const random = this.#random;
    const releases = this.#pick();
    const newest = releases?.at(-1);
    if (newest === undefined) return this.#publish();
    const { group, kind, release } = newest;
    const mark = { at: AT, by: 'someone', reason: 'replaced' };
    const replacement = { group, kind: 'Better' };
    const sample = { group, kind, release: release.release, tags: release.tags };
    const isYank = random.chance(0.5);
    const change = changeOf(
      isYank
        ? { ...sample, allYanked: releases!.length === 1, yanked: mark }
        : { ...sample, deprecated: random.chance(0.5) ? { ...mark, replacement } : mark },
      await this.#revision(group, kind),
      'update',
      isYank ? 'release.yanked' : 'release.deprecated',
    );
    await this.#store.commitFunction(change);
  }

  async #takeDown(): Promise<void> {
    const releases = this.#pick();
    if (releases === undefined) return this.#publish();
    const { group, kind } = releases[0]!;
    const { release } = this.#random.pick(releases);
    const left = releases.filter((one) => one.release !== release);
    const last = left.at(-1);
    await this.#store.commitTakedown({
      group,
      kind,
      expectedRevision: await this.#revision(group, kind),
      takedowns: [
        { group, kind, release: release.release, digest: release.digest, at: AT, by: 'root', reason: 'bad' },
      ],
      ...(last !== undefined && { search: last.search }),
    });
    const key = `${group}/${kind.toLowerCase()}`;
    if (last === undefined) this.#functions.delete(key);
    else this.#functions.set(key, left);
  }

  async #build(catalog: string, changes: number): Promise<void> {
    const random = this.#random;
    const held = this.#held.get(catalog)!;
    const places = new Map<string, SamplePlace>();
    for (let at = 0; at < changes; at += 1) {
      const group = random.pick(GROUPS);
      const kind = changes === MANY ? `Many${random.below(2 * MANY)}` : random.pick(KINDS);
      const key = `${group}/${kind.toLowerCase()}`;
      if (places.has(key)) continue;
      const known = held.get(key);
      if (known !== undefined && 'kind' in known && random.chance(0.5)) {
        places.set(key, { group, gone: known.kind });
        held.delete(key);
        continue;
      }
      const spelled = known !== undefined && 'kind' in known ? known.kind : kind;
      const place = {
        group,
        kind: spelled,
        description: `Upstream number ${this.#count++}.`,
        tags: random.some(TAGS, 0.5),
        source: random.pick(['kiwi', 'banana']),
      };
      places.set(key, place);
      held.set(key, place);
    }
    await cutUpstream(this.#store, catalog, [...places.values()], { snapshot: random.chance(0.85) });
  }

  async #delete(name: string): Promise<void> {
    const deletion = { at: AT, by: 'admin', reason: 'merged', restorableUntil: '2031-01-01T00:00:00.000Z' };
    const event = { type: 'catalog.deleted' as const, at: AT, by: 'admin', catalog: name };
    await this.#store.deleteCatalog({ name, deletion, event });
  }

  async #restore(name: string): Promise<void> {
    const event = { type: 'catalog.restored' as const, at: AT, by: 'admin', catalog: name };
    await this.#store.restoreCatalog({ name, at: AT, event });
  }

  #pick(): FunctionChange[] | undefined {
    const all = [...this.#functions.values()];
    return all.length === 0 ? undefined : this.#random.pick(all);
  }

  async #revision(group: string, kind: string): Promise<number> {
    const found = await this.#store.function(group, kind);
    if (found !== undefined) return found.revision;
    return 0;
  }
}
