import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  catalogReaders,
  type FunctionChange,
  functionKey,
  RevisionConflict,
  selectFunction,
} from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SnapshotBuilder } from '../../apps/registry/src/catalogs/build/snapshot-builder.js';
import { DocumentHasher } from '../../apps/registry/src/catalogs/segments/document-hasher.js';
import { addKeyFile } from '../../apps/registry/src/catalogs/sign/key-files.js';
import { RegistryKeys } from '../../apps/registry/src/catalogs/sign/registry-keys.js';
import { storedRecipe } from '../../apps/registry/src/catalogs/stored-recipe.js';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { storedAccess } from '../../apps/registry/src/store/stored-access.js';
import { accessText } from '../../apps/registry/src/testing/access.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf } from './sample-records.js';

const CATALOGS = ['amber', 'blue', 'cyan', 'default', 'green'];
const GROUPS = ['example.com', 'vendor.example.org', 'team.example.net'];
const KINDS = ['SetLabels', 'PeelBanana', 'Weigh', 'RenderChart', 'Kubeval', 'Drop'];
const TAGS = ['mutator', 'validator', 'fruit'];
const STEPS = 60;
const log = pino({ level: 'silent' });

/** Checks that builds from events give the catalogs that a build from nothing would give. */
export function catalogBuildsContract(name: string, open: () => Promise<RegistryStoreHarness>): void {
  describe(`builds of many catalogs: ${name}`, () => {
    let harness: RegistryStoreHarness;
    let folder: string;
    let builder: SnapshotBuilder;
    let committed: string[];
    /** Called while a catalog is built. */
    let meanwhile: () => Promise<void>;

    beforeEach(async () => {
      harness = await open();
      folder = await mkdtemp(path.join(tmpdir(), 'krmhub-builds-'));
      await addKeyFile(folder, new Date(AT));
      meanwhile = async () => undefined;
      builder = await start(harness.store);
    });
    afterEach(async () => {
      await builder.stop();
      await harness.dispose();
      await rm(folder, { recursive: true, force: true });
    });

    async function start(given: RegistryStoreHarness['store']): Promise<SnapshotBuilder> {
      committed = [];
      const store: RegistryStore = {
        ...given,
        async changedFunctions(...range) {
          await meanwhile();
          return given.changedFunctions(...range);
        },
        async access() {
          await meanwhile();
          return given.access();
        },
        async *allFunctions() {
          await meanwhile();
          yield* given.allFunctions();
        },
        async commitSnapshot(build, ...more) {
          committed.push(build.catalog);
          await meanwhile();
          return given.commitSnapshot(build, ...more);
        },
      };
      const clock = () => new Date();
      const keys = await RegistryKeys.open({ folder, clock, log });
      const started = new SnapshotBuilder({
        store,
        hasher: new DocumentHasher(store),
        signing: { keys, clock, validDays: 30 },
        clock,
        log,
        metrics: { build() {}, catalogFunctions() {}, retainCatalogs() {} },
        onSnapshot() {},
      });
      started.start();
      return started;
    }

    async function waitForAll(): Promise<void> {
      const event = await harness.store.lastEvent();
      builder.wake();
      expect(await builder.waitFor({ event, milliseconds: 60_000 })).toBe(true);
      expect(builder.status().failing).toEqual([]);
    }

    /** Checks every catalog against a selection from all functions that its readers may read. */
    async function checkAll(): Promise<void> {
      const { store } = harness;
      const rules = await storedAccess(store);
      for (const catalog of await store.catalogs()) {
        const expected: string[] = [];
        const mayContain = catalogReaders(rules, catalog.name);
        for await (const one of store.allFunctions()) {
          if (!mayContain(one)) continue;
          const { versions } = selectFunction(storedRecipe(catalog), one);
          if (versions.length > 0) expected.push(selected({ ...one, versions }));
        }
        const rows = await store.snapshotEntryRows(catalog.name, catalog.newest!.serial);
        const actual = rows.filter(({ entry }) => entry !== undefined).map(selected);
        expect([catalog.name, actual.sort()]).toEqual([catalog.name, expected.sort()]);
        expect(catalog.newest!.withdrawn).toBeUndefined();
        expect(catalog.newest!.functions).toBe(actual.length);
      }
    }

    it.each([1, 2, 3])('equal builds from nothing, after random changes (seed %i)', async (seed) => {
      const random = new Random(seed);
      const changes = new RandomChanges(() => harness.store, random, builder);
      const other = new Random(seed);
      let mayHide = true;
      const settle = async () => {
        // Else the rules change while they are checked.
        mayHide = false;
        await waitForAll();
        await checkAll();
        mayHide = true;
      };
      meanwhile = async () => {
        if (mayHide && other.chance(0.1)) await hideAtRandom(harness.store, other);
      };
      for (let step = 0; step < STEPS; step++) {
        await changes.change();
        if (random.chance(0.5)) builder.wake();
        if (random.chance(0.08)) {
          // Another process builds from here on.
          await builder.stop();
          builder = await start(harness.store);
          changes.builder = builder;
        }
        if (random.chance(0.15)) {
          await settle();
        }
      }
      await settle();
    });

    it('touch only the catalogs that select a function', async () => {
      const changes = new RandomChanges(() => harness.store, new Random(1), builder);
      await changes.apply('amber', recipeText('amber', '{ group: example.com }'));
      for (let at = 0; at < 20; at++)
        await changes.apply(`other-${at}`, recipeText(`other-${at}`, '{ group: vendor.example.org }'));
      await waitForAll();
      committed.length = 0;
      await harness.store.commitFunction(changeOf({ kind: 'SetLabels' }));
      await waitForAll();
      expect(committed).toEqual(['amber']);
      await checkAll();
    });

    it('build new catalogs although others are built again and again', async () => {
      const changes = new RandomChanges(() => harness.store, new Random(1), builder);
      await changes.apply('default', recipeText('default', ''));
      await waitForAll();
      const names = Array.from({ length: 10 }, (_, at) => `new-${at}`);
      let publishes = 0;
      const isBuilt = async () =>
        (await Promise.all(names.map((name) => harness.store.catalog(name)))).every((one) => one?.newest);
      for (const name of names) await changes.apply(name, recipeText(name, ''));
      while (!(await isBuilt())) {
        publishes += 1;
        expect(publishes).toBeLessThan(2_000);
        await harness.store.commitFunction(changeOf({ kind: `Fn${publishes}` }));
        builder.wake();
      }
      await waitForAll();
      await checkAll();
    });
  });
}

function selected({ group, kind, versions }: { group: string; kind: string; versions: readonly object[] }) {
  return `${functionKey({ group, kind })} ${JSON.stringify(versions)}`;
}

function recipeText(name: string, selector: string): string {
  const match = selector === '' ? '' : `, match: [${selector}]`;
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: { name: ${name} }
spec: { sources: [{ name: own, functions: {}${match} }] }
`;
}

/** Hides groups, and kinds of them, from the readers of some catalogs. */
async function hideAtRandom(store: RegistryStore, random: Random): Promise<void> {
  const all = ['public', 'internal', 'private'] as const;
  const visibility = () => random.pick(all);
  const groups = GROUPS.map((pattern) => {
    const of = visibility();
    const functions = random
      .some(KINDS, 0.2)
      .map((kind) => `{kind: ${kind}, visibility: ${random.pick(all.slice(all.indexOf(of)))}}`);
    return `- {pattern: ${pattern}, owner: ops, visibility: ${of}, functions: [${functions.join(', ')}]}\n`;
  });
  const catalogs = random
    .some(CATALOGS, 0.4)
    .map((pattern) => `- {pattern: ${pattern}, visibility: ${visibility()}}\n`);
  const text = accessText(
    `teams: [{name: ops}]\ngroups:\n${groups.join('')}${catalogs.length === 0 ? '' : `catalogs:\n${catalogs.join('')}`}`,
  );
  await store
    .applyAccess({
      ...{ text, appliedAt: AT, appliedBy: 'admin' },
      expectedRevision: (await store.access())?.revision ?? 0,
      event: { type: 'access.applied', at: AT, by: 'admin' },
    })
    .catch((error: unknown) => {
      // Two builds at once.
      if (!(error instanceof RevisionConflict)) throw error;
    });
}

/** Publishes, changes, and takes down releases, and applies, deletes, and restores recipes, at random. */
class RandomChanges {
  builder: SnapshotBuilder;
  readonly #store: () => RegistryStoreHarness['store'];
  readonly #random: Random;
  readonly #releases: FunctionChange[] = [];
  #count = 0;

  constructor(store: () => RegistryStoreHarness['store'], random: Random, builder: SnapshotBuilder) {
    this.#store = store;
    this.#random = random;
    this.builder = builder;
  }

  async change(): Promise<void> {
    const what = this.#random.below(20);
    const catalog = this.#random.pick(CATALOGS);
    const store = this.#store();
    if (what < 9 || this.#releases.length === 0) return this.#publish();
    if (what < 12) return this.#yank();
    if (what < 14) return this.#takeDown();
    const event = (type: 'catalog.deleted' | 'catalog.restored') => ({ type, at: AT, by: 'admin', catalog });
    if ((await store.deletedCatalog(catalog)) !== undefined) {
      await store.restoreCatalog({ name: catalog, at: AT, event: event('catalog.restored') });
      return;
    }
    if (what === 19 && (await store.catalog(catalog)) !== undefined) {
      const deletion = { at: AT, by: 'admin', reason: 'merged', restorableUntil: '2031-01-01T00:00:00.000Z' };
      await store.deleteCatalog({ name: catalog, deletion, event: event('catalog.deleted') });
      return;
    }
    const selector = this.#random.pick([
      '',
      `{ group: ${this.#random.pick(GROUPS)} }`,
      `{ kind: ${this.#random.pick(KINDS)} }, { kind: ${this.#random.pick(KINDS)} }`,
      `{ tags: [${this.#random.pick(TAGS)}] }`,
    ]);
    await this.apply(catalog, recipeText(catalog, selector));
  }

  async apply(name: string, recipe: string): Promise<void> {
    const store = this.#store();
    const expectedRecipe = (await store.catalog(name))?.recipe;
    const event = { type: 'catalog.applied' as const, at: AT, by: 'admin', catalog: name };
    await store.applyRecipe({ name, recipe, expectedRecipe, at: AT, by: 'admin', event });
    this.builder.wake();
  }

  async #publish(): Promise<void> {
    const random = this.#random;
    const [group, kind] = [random.pick(GROUPS), random.pick(KINDS)];
    const release = `1.${this.#count++}.0`;
    const change = changeOf(
      { group, kind, release, tags: random.some(TAGS, 0.4), description: `Number ${this.#count}.` },
      await this.#revision(group, kind),
    );
    await this.#store().commitFunction(change);
    this.#releases.push(change);
  }

  async #yank(): Promise<void> {
    const { group, kind, release } = this.#random.pick(this.#releases);
    const yanked = { at: AT, by: 'someone', reason: 'broken' };
    const sample = { group, kind, release: release.release, tags: release.tags, yanked };
    const revision = await this.#revision(group, kind);
    await this.#store().commitFunction(changeOf(sample, revision, 'update', 'release.yanked'));
  }

  async #takeDown(): Promise<void> {
    const taken = this.#random.pick(this.#releases);
    const { group, kind, release } = taken;
    const left = this.#releases.filter((one) => one !== taken);
    const last = left.filter((one) => one.group === group && one.kind === kind).at(-1);
    const store = this.#store();
    await this.builder.pause();
    await store.commitTakedown({
      group,
      kind,
      expectedRevision: await this.#revision(group, kind),
      takedowns: [
        { group, kind, release: release.release, digest: release.digest, at: AT, by: 'root', reason: 'bad' },
      ],
      ...(last !== undefined && { search: last.search }),
    });
    this.builder.resume();
    this.builder.wake();
    this.#releases.splice(0, this.#releases.length, ...left);
  }

  async #revision(group: string, kind: string): Promise<number> {
    return (await this.#store().function(group, kind))?.revision ?? 0;
  }
}
