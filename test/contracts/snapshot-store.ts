import { AccessRules, catalogReaderRules, RevisionConflict } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { digestsOf, place, sampleBuilds } from './sample-builds.js';
import { AT } from './sample-records.js';

export function catalogContract(store: () => RegistryStore): void {
  const { apply, cut, kindsAt } = sampleBuilds(store);

  const deletion = { at: AT, by: 'admin', reason: 'merged', restorableUntil: '2031-01-01T00:00:00.000Z' };
  const event = { type: 'catalog.deleted' as const, at: AT, by: 'admin', catalog: 'platform' };
  const remove = (name = 'platform') => store().deleteCatalog({ name, deletion, event });

  describe('deleted catalogs', () => {
    const restore = (name = 'platform') =>
      store().restoreCatalog({ name, at: AT, event: { ...event, type: 'catalog.restored' } });

    it('are excluded with everything that names them, and come back whole', async () => {
      await apply('another', 'kept');
      await store().applyRecipe({
        name: 'platform',
        recipe: 'first',
        sources: [{ source: 'theirs', url: 'https://example.com/catalog.yaml' }],
        expectedRecipe: undefined,
        at: AT,
        by: 'admin',
        event: { type: 'catalog.applied', at: AT, by: 'admin', catalog: 'platform' },
      });
      await cut('platform', [place('A', 'one')], 'x');
      const before = await store().catalog('platform');
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['platform']);
      expect(await remove()).toMatchObject({ type: 'catalog.deleted', sequence: 4 });

      expect(await store().catalog('platform')).toBeUndefined();
      expect((await store().catalogs()).map(({ name }) => name)).toEqual(['another']);
      const tombstone = { name: 'platform', ...deletion };
      expect(await store().deletedCatalog('platform')).toEqual({ ...tombstone, recipe: 'first' });
      expect(await store().deletedCatalogs()).toEqual([tombstone]);
      expect(await store().deletedCatalog('another')).toBeUndefined();
      expect(await store().catalogsContaining('example.com', 'A')).toEqual([]);
      expect([await store().sources(), await store().sources('platform')]).toEqual([[], []]);
      expect(await store().source('platform', 'theirs')).toBeUndefined();
      await expect(apply('platform', 'second')).rejects.toThrow(RevisionConflict);
      await expect(apply('platform', 'second', 'first')).rejects.toThrow(RevisionConflict);
      await expect(cut('platform', [place('A', 'two')], 'y')).rejects.toMatchObject({ code: 'not-found' });
      expect(await kindsAt('platform', 1)).toEqual(['A one']);

      expect(await restore()).toMatchObject({ type: 'catalog.restored', sequence: 5 });
      expect(await store().catalog('platform')).toEqual({ ...before, throughEvent: 0 });
      expect(await store().deletedCatalogs()).toEqual([]);
      expect(await store().catalogsContaining('example.com', 'A')).toEqual(['platform']);
      expect(await store().source('platform', 'theirs')).toMatchObject({ nextAt: AT });
    });

    it('are restored, and get recipes, only by the Access document that this was decided by', async () => {
      await apply('platform', 'first');
      await remove();
      const decided = { event: await store().lastEvent(), types: ['access.applied'] as const };
      await store().applyAccess({
        ...{ text: 'rules', expectedRevision: 0, appliedAt: AT, appliedBy: 'admin' },
        event: { type: 'access.applied', at: AT, by: 'admin' },
      });
      const restored = { name: 'platform', at: AT, event: { ...event, type: 'catalog.restored' as const } };
      const applied = {
        ...{ name: 'another', recipe: 'first', expectedRecipe: undefined, at: AT, by: 'admin' },
        event: { ...event, type: 'catalog.applied' as const, catalog: 'another' },
      };
      await expect(store().restoreCatalog({ ...restored, decided })).rejects.toThrow(RevisionConflict);
      await expect(store().applyRecipe({ ...applied, decided })).rejects.toThrow(RevisionConflict);
      expect(await store().catalogs()).toEqual([]);
      const later = { ...decided, event: await store().lastEvent() };
      await store().restoreCatalog({ ...restored, decided: later });
      // Events of others do not count.
      await store().applyRecipe({ ...applied, decided: later });
      expect((await store().catalogs()).map(({ name }) => name)).toEqual(['another', 'platform']);
    });

    it('are built by the Access document that is there then, with a snapshot or without', async () => {
      await apply('platform', 'first');
      const read = { throughEvent: await store().lastEvent() };
      await store().applyAccess({
        ...{ text: 'rules', expectedRevision: 0, appliedAt: AT, appliedBy: 'admin' },
        event: { type: 'access.applied', at: AT, by: 'admin' },
      });
      for (const text of ['x', undefined])
        await expect(cut('platform', [place('A', 'one')], text, read)).rejects.toThrow(RevisionConflict);
      await cut('platform', [place('A', 'two')], 'x');
      expect(await kindsAt('platform', 1)).toEqual(['A two']);
    });

    it('are behind the Access document until they are built again, unless they are deleted or have no snapshot', async () => {
      for (const name of ['platform', 'another', 'deleted']) {
        await apply(name, 'first');
        await cut(name, [place('A', 'one')], 'x', { throughEvent: await store().lastEvent() });
      }
      await apply('empty', 'first');
      await remove('deleted');
      expect(await store().catalogsBehindAccess()).toEqual([]);
      await store().applyAccess({
        ...{ text: 'rules', expectedRevision: 0, appliedAt: AT, appliedBy: 'admin' },
        event: { type: 'access.applied', at: AT, by: 'admin' },
      });
      expect(await store().catalogsBehindAccess()).toEqual(['another', 'platform']);
      await cut('platform', [place('A', 'two')], 'y', { throughEvent: await store().lastEvent() });
      expect(await store().catalogsBehindAccess()).toEqual(['another']);
    });

    it('are built although rules are new, if they decide the same about the catalog', async () => {
      await apply('platform', 'first');
      const throughEvent = await store().lastEvent();
      const readerRules = catalogReaderRules(new AccessRules(), 'platform');
      const read = { throughEvent, readerRules };
      const head = 'apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec: ';
      const applyAccess = async (spec: string) => {
        const expectedRevision = (await store().access())?.revision ?? 0;
        await store().applyAccess({
          ...{ text: `${head}${spec}\n`, expectedRevision, appliedAt: AT, appliedBy: 'admin' },
          event: { type: 'access.applied', at: AT, by: 'admin' },
        });
      };
      const hides = 'groups: [{pattern: a.example.com, visibility: private}]';
      await applyAccess(`{teams: [{name: a}], ${hides}}`);
      await expect(cut('platform', [place('A', 'one')], 'x', read)).rejects.toThrow(RevisionConflict);
      await applyAccess('{teams: [{name: a}]}');
      const claim = { group: 'a.example.com', team: 'a', proof: 'dns' as const };
      await store().putOwnerClaim(
        { ...claim, claimedAt: AT, claimedBy: 'a', checkedAt: AT },
        { event: { type: 'access.applied', at: AT, by: 'a' } },
      );
      await cut('platform', [place('A', 'one')], 'x', read);
      expect(await kindsAt('platform', 1)).toEqual(['A one']);
    });

    it('are deleted and restored once', async () => {
      await expect(remove()).rejects.toThrow(RevisionConflict);
      await apply('platform', 'first');
      await expect(restore()).rejects.toThrow(RevisionConflict);
      await remove();
      await expect(remove()).rejects.toThrow(RevisionConflict);
      await restore();
      await expect(restore()).rejects.toThrow(RevisionConflict);
      expect(await store().lastEvent()).toBe(3);
    });

    it('reject a build that was planned before', async () => {
      await apply('platform', 'first');
      const planned = { expectedThroughEvent: 0, throughEvent: await store().lastEvent() };
      await remove();
      await restore();
      await expect(cut('platform', [place('A', 'one')], 'x', planned)).rejects.toThrow(RevisionConflict);
    });
  });

  describe('catalogs', () => {
    it('store a recipe, which is replaced only by a client that has seen it', async () => {
      expect(await store().catalogs()).toEqual([]);
      expect(await store().catalog('platform')).toBeUndefined();
      const event = await apply('platform', 'first');
      expect(event).toEqual({
        sequence: 1,
        type: 'catalog.applied',
        at: AT,
        by: 'admin',
        catalog: 'platform',
      });
      const record = {
        name: 'platform',
        recipe: 'first',
        appliedAt: AT,
        appliedBy: 'admin',
        throughEvent: 0,
        clock: AT,
      };
      expect(await store().catalog('platform')).toEqual(record);
      await expect(apply('platform', 'second')).rejects.toThrow(RevisionConflict);
      await expect(apply('platform', 'second', 'other')).rejects.toThrow(RevisionConflict);
      await expect(apply('new', 'text', 'other')).rejects.toThrow(RevisionConflict);
      expect(await store().lastEvent()).toBe(1);
      await cut('platform', [], 'x');
      expect(await store().catalog('platform')).toMatchObject({ throughEvent: 1 });
      await apply('platform', 'second', 'first');
      await apply('another', 'r\u0001');
      expect(await store().catalog('platform')).toMatchObject({
        recipe: 'second',
        throughEvent: 0,
        newest: { serial: 1 },
      });
      expect((await store().catalogs()).map(({ name, recipe }) => [name, recipe])).toEqual([
        ['another', 'r\u0001'],
        ['platform', 'second'],
      ]);
    });

    it('store every snapshot, by serial and by digest', async () => {
      await apply('c', 'r');
      for (const text of ['a', 'b', 'a']) await cut('c', [], text);
      const snapshots = await store().snapshots('c', 10);
      expect(snapshots.map(({ serial, previous }) => [serial, previous])).toEqual([
        [3, digestsOf('b')['catalog.yaml']],
        [2, digestsOf('a')['catalog.yaml']],
        [1, null],
      ]);
      expect(snapshots.map(({ labels }) => labels)).toEqual([
        undefined,
        { team: 'a', 'app.example.com/name': '漢' },
        undefined,
      ]);
      expect(await store().snapshots('c', 1)).toEqual([snapshots[0]]);
      expect(await store().snapshots('none', 10)).toEqual([]);
      expect(await store().snapshot('c', 2)).toEqual(snapshots[1]);
      expect(await store().snapshot('c', digestsOf('b')['catalog.yaml'])).toEqual(snapshots[1]);
      expect(await store().snapshot('c', digestsOf('a')['catalog.yaml'])).toEqual(snapshots[0]);
      expect(await store().snapshot('c', 4)).toBeUndefined();
      expect(await store().snapshot('c', sha256('none'))).toBeUndefined();
      expect((await store().catalog('c'))?.newest).toEqual(snapshots[0]);
    });

    it('refuse a build that was planned on another state, and store nothing of it', async () => {
      await apply('c', 'r');
      await cut('c', [place('A', 'one')], 'first');
      const places = [place('A', 'two')];
      await expect(cut('c', places, 'stale', { expectedThroughEvent: 0 })).rejects.toThrow(RevisionConflict);
      const snapshot = { catalog: 'c', digests: digestsOf('x'), functions: 1, createdAt: AT };
      const previous = digestsOf('first')['catalog.yaml'];
      for (const wrong of [
        { serial: 1, previous },
        { serial: 3, previous },
        { serial: 2, previous: null },
      ]) {
        await expect(cut('c', places, 'x', { snapshot: { ...snapshot, ...wrong } })).rejects.toThrow(
          RevisionConflict,
        );
      }
      await expect(cut('none', [])).rejects.toMatchObject({ code: 'not-found' });
      await expect(cut('c', places, 'x', { entries: [] })).rejects.toThrow();
      expect(await store().latestEntryRows('c')).toEqual([place('A', 'one')]);
      expect(await store().lastEvent()).toBe(2);
      expect(await store().snapshots('c', 9)).toHaveLength(1);
    });

    it('refuse a build with a recipe that was replaced before the first build', async () => {
      await apply('c', 'first');
      const throughEvent = await store().lastEvent();
      await apply('c', 'second', 'first');
      await expect(cut('c', [], 'x', { throughEvent })).rejects.toThrow(RevisionConflict);
      await cut('c', [], 'x');
      expect((await store().catalog('c'))?.throughEvent).toBe(2);
    });

    it('are marked as built through later events, except those that are due for a full build', async () => {
      for (const name of ['built', 'new', 'left', 'gone']) await apply(name, 'r');
      for (const name of ['built', 'left', 'gone']) await cut(name, [place('A', 'one')], name);
      await remove('gone');
      const last = await store().lastEvent();
      await store().passOver(['built', 'new', 'gone'], last);
      const through = async (name: string) => (await store().catalog(name))?.throughEvent;
      expect([await through('built'), await through('new')]).toEqual([last, 0]);
      expect(await through('left')).toBeLessThan(last);
      await store().passOver(['built'], last - 1);
      expect(await through('built')).toBe(last);
      await apply('built', 'other', 'r');
      await store().passOver(['built'], await store().lastEvent());
      expect(await through('built')).toBe(0);
    });

    it('let exactly one of 50 builds succeed', async () => {
      await apply('c', 'r');
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, at) =>
          store().commitSnapshot({
            catalog: 'c',
            expectedThroughEvent: 0,
            throughEvent: 1,
            changed: [],
            entries: [],
            snapshot: {
              catalog: 'c',
              serial: 1,
              previous: null,
              digests: digestsOf(`${at}`),
              functions: 0,
              createdAt: AT,
            },
          }),
        ),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await store().snapshots('c', 9)).toHaveLength(1);
    });
  });
}
