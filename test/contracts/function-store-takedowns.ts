import { type FunctionChange, RevisionConflict } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, foundAfter } from './sample-records.js';
import { LATER, NAME, takedownOf, takedownSteps } from './takedown-steps.js';

/** Takedowns of releases, and what they leave. */
export function takedownContract(harness: () => RegistryStoreHarness): void {
  const { store, one, two, planned, place, apply, cut } = takedownSteps(harness);

  describe('search after a takedown', () => {
    const named = (kind: string) => changeOf({ kind, release: '1.0.0' });
    const kindsFound = async () => {
      const { items } = await store().search({ limit: 10 });
      return items.map(({ kind }) => kind);
    };
    const takeDown = (change: FunctionChange) => {
      const { group, kind } = change;
      const takedowns = [takedownOf(change.release)];
      return store().commitTakedown({
        group,
        kind,
        expectedRevision: 1,
        takedowns,
        origin: { credential: 't1' },
      });
    };
    const again = (change: FunctionChange) =>
      store().commitFunction(changeOf({ kind: change.kind, release: '2.0.0' }, 0));

    it('finds a function that was published again before the next search', async () => {
      await store().commitFunction(named('A'));
      await store().commitFunction(named('B'));
      expect(await kindsFound()).toEqual(['A', 'B']);
      await takeDown(named('B'));
      await again(named('B'));
      expect(await kindsFound()).toEqual(['A', 'B']);
    });

    it('finds a function that was published again with the ID of another one', async () => {
      for (const kind of ['A', 'B', 'C']) await store().commitFunction(named(kind));
      expect(await kindsFound()).toEqual(['A', 'B', 'C']);
      await takeDown(named('C'));
      await takeDown(named('B'));
      await again(named('C'));
      expect(await kindsFound()).toEqual(['A', 'C']);
      await again(named('B'));
      expect(await kindsFound()).toEqual(['A', 'B', 'C']);
    });
  });

  describe('takedowns', () => {
    it('list the digests that they refuse, in pages that are not too large', async () => {
      const digest = (text: string) => sha256(text);
      const takeDown = async (kind: string, ...runtimeDigests: ReturnType<typeof digest>[]) => {
        const change = changeOf({ kind, release: '1.0.0' });
        await store().commitFunction(change);
        const { group, release } = change;
        const takedowns = [{ ...takedownOf(release), runtimeDigests }];
        return store().commitTakedown({ group, kind, expectedRevision: 1, takedowns });
      };
      const listed = async (digests?: ReturnType<typeof digest>[], after = 0) =>
        (await store().revocations(after, 9, digests)).map(({ kind, runtimeDigests }) => [
          kind,
          runtimeDigests,
        ]);
      const [a, b] = ['a', 'b'].map(digest).sort() as [`sha256:${string}`, `sha256:${string}`];
      expect((await takeDown('A', b, a)).refused).toEqual([a, b]);
      await takeDown('B', b);
      await takeDown('C');
      const all = [
        ['A', [a, b]],
        ['B', [b]],
      ];
      expect(await listed([b, digest('c')])).toEqual(all);
      expect(await listed([a])).toEqual(all.slice(0, 1));
      expect(await listed([digest('c')])).toEqual([]);
      expect(await listed()).toEqual([...all, ['C', undefined]]);
      const sequence = (await store().revocations(0, 1, [b]))[0]!.sequence;
      expect(await listed([b], sequence)).toEqual(all.slice(1));
      expect((await store().allTakedowns()).map(({ runtimeDigests }) => runtimeDigests)).toEqual([
        [a, b],
        [b],
        undefined,
      ]);
      const [tombstone] = await store().allTakedowns();
      await store().allowRuntimes([{ ...tombstone!, kind: 'a' }], { at: AT, by: 'admin' });
      expect(await listed([a, b])).toEqual(all.slice(1));
      const many = Array.from({ length: 6_000 }, (_, at) => digest(String(at)));
      for (const kind of ['D', 'E']) await takeDown(kind, ...many);
      const kinds = async (after: number) => (await listed([many[0]!], after)).map(([kind]) => kind);
      expect(await kinds(0)).toEqual(['D']);
      const first = (await store().revocations(0, 9, [many[0]!]))[0]!.sequence;
      expect(await kinds(first)).toEqual(['E']);
      expect((await listed()).map(([kind]) => kind)).toEqual(['A', 'B', 'C', 'D']);
    });

    it('leave a tombstone, and the rest of the function', async () => {
      await store().commitFunction(one);
      await store().commitFunction(two);
      const { event, withdrawn, blobs } = await store().commitTakedown(planned(two, 2, one));
      expect(event).toBe(3);
      expect(withdrawn).toEqual([]);
      expect(blobs).toEqual([{ digest: two.release.digest, keptBy: [] }]);
      expect(await store().release('example.com', 'Bad', '2.0.0')).toBeUndefined();
      const left = await store().function('example.com', 'bad');
      expect(left).toMatchObject({ revision: 3, releases: [{ release: '1.0.0' }] });
      const tombstone = takedownOf(two.release);
      expect(await store().takedowns('example.com', 'bad')).toEqual([tombstone]);
      expect(await store().takedowns('example.com', 'Other')).toEqual([]);
      expect(await store().allTakedowns()).toEqual([tombstone]);
      expect((await store().search({ text: 'wicked', limit: 9 })).items).toEqual([foundAfter(one)]);
      expect((await store().search({ tag: ['fair'], limit: 9 })).total).toBe(0);
      expect(await store().events(2, 9)).toEqual([
        {
          sequence: 3,
          type: 'release.taken-down',
          ...NAME,
          at: LATER,
          by: 'root',
          reason: 'malware',
          release: '2.0.0',
          digest: two.release.digest,
        },
      ]);
    });

    it('keep who signed the release, also in the revocation feed, and take later knowledge of signers', async () => {
      const key = { type: 'key', fingerprint: sha256('a key') } as const;
      const person = { type: 'identity', issuer: 'https://issuer.example', subject: 'a@b.c' } as const;
      await store().commitFunction(one);
      await store().commitFunction(two);
      const tombstone = { ...takedownOf(one.release), signers: [key] };
      await store().commitTakedown({ ...planned(one, 2, two), takedowns: [tombstone] });
      await store().commitTakedown({ ...planned(two, 3), takedowns: [takedownOf(two.release)] });
      const unsigned = takedownOf(two.release);
      expect(await store().takedowns('example.com', 'bad')).toEqual([tombstone, unsigned]);
      expect((await store().revocations(0, 9)).map(({ release, signers }) => [release, signers])).toEqual([
        ['1.0.0', [key]],
        ['2.0.0', undefined],
      ]);
      await store().completeTakedown({ ...tombstone, kind: 'BAD', signers: [person, key] });
      await store().completeTakedown({ ...unsigned, signers: [person] });
      await store().completeTakedown(takedownOf(one.release));
      await store().completeTakedown({ ...unsigned, release: '3.0.0', signers: [person] });
      expect(await store().allTakedowns()).toEqual([
        { ...tombstone, signers: [key, person] },
        { ...unsigned, signers: [person] },
      ]);
      expect((await store().unfinishedTakedowns())?.takedowns).toEqual(await store().allTakedowns());
    });

    it('of all releases leave no function in search and lists', async () => {
      await store().commitFunction(one);
      await store().commitFunction(changeOf({ kind: 'Good' }));
      await store().commitTakedown(planned(one, 1));
      expect(await store().function('example.com', 'Bad')).toBeUndefined();
      expect(await store().functions([NAME])).toEqual([]);
      const all = [];
      for await (const fn of store().allFunctions()) all.push(fn.kind);
      expect(all).toEqual(['Good']);
      const page = await store().search({ limit: 9 });
      expect([page.total, page.items.map(({ kind }) => kind)]).toEqual([1, ['Good']]);
      expect(JSON.stringify(page.facets)).not.toMatch(/evil|Bad/);
      expect((await store().search({ text: 'wicked', limit: 9 })).total).toBe(0);
    });

    it('and publishes after them show in search, whatever was searched before', async () => {
      await store().commitFunction(changeOf({ kind: 'Good' }));
      await store().commitFunction(one);
      expect((await store().search({ limit: 9 })).total).toBe(2);
      await store().commitTakedown(planned(one, 1));
      await store().commitFunction(changeOf({ kind: 'Best', tags: ['new'] }));
      const page = await store().search({ limit: 9 });
      expect([page.total, page.items.map(({ kind }) => kind)]).toEqual([2, ['Best', 'Good']]);
      expect(page.facets.tag).toEqual([{ value: 'new', count: 1 }]);
      expect((await store().search({ tag: ['new'], limit: 9 })).total).toBe(1);
      expect((await store().search({ text: 'wicked', limit: 9 })).total).toBe(0);
    });

    it('block the name and the bytes forever, and nothing else', async () => {
      await store().commitFunction(one);
      await store().commitTakedown(planned(one, 1));
      const insert = (change: FunctionChange) => store().commitFunction({ ...change, expectedRevision: 0 });
      await expect(insert(one)).rejects.toMatchObject({ code: 'conflict' });
      const otherBytes = { ...one, release: { ...one.release, digest: sha256('other') } };
      await expect(insert(otherBytes)).rejects.toMatchObject({ code: 'conflict' });
      const otherName = { ...two, release: { ...two.release, digest: one.release.digest } };
      await expect(insert(otherName)).rejects.toMatchObject({ code: 'conflict' });
      const lowerCase = changeOf({ kind: 'bad', release: '1.0.0' });
      await expect(store().commitFunction(lowerCase)).rejects.toMatchObject({ code: 'conflict' });
      expect(await store().lastEvent()).toBe(2);
      await insert(two);
      expect((await store().function('example.com', 'Bad'))?.releases).toHaveLength(1);
    });

    it('reject every plan made before, even for a function that was published again', async () => {
      await store().commitFunction(one);
      await expect(store().commitTakedown(planned(one, 0))).rejects.toThrow(RevisionConflict);
      await store().commitTakedown(planned(one, 1));
      await store().commitFunction({ ...two, expectedRevision: 0 });
      const third = changeOf({ kind: 'Bad', release: '3.0.0' }, 1);
      await expect(store().commitFunction(third)).rejects.toThrow(RevisionConflict);
      expect((await store().function('example.com', 'Bad'))?.revision).toBe(3);
    });

    it('block a release that was never published here', async () => {
      await store().commitTakedown(planned(one, 0));
      expect(await store().takedowns('example.com', 'Bad')).toEqual([takedownOf(one.release)]);
      await expect(store().commitFunction(one)).rejects.toMatchObject({ code: 'conflict' });
      await expect(store().commitTakedown(planned(one, 0))).rejects.toMatchObject({ code: 'conflict' });
    });

    it('are refused if the stored bytes differ, and change nothing', async () => {
      await store().commitFunction(one);
      const other = { ...one, release: { ...one.release, digest: sha256('other') } };
      await expect(store().commitTakedown(planned(other, 1))).rejects.toMatchObject({ code: 'conflict' });
      expect(await store().release('example.com', 'Bad', '1.0.0')).toEqual(one.release);
      expect(await store().allTakedowns()).toEqual([]);
      expect(await store().lastEvent()).toBe(1);
    });

    it('name the bytes to delete, and those that other releases still use', async () => {
      const readme = sha256('readme');
      await store().commitFunction({ ...one, release: { ...one.release, readme } });
      const good = changeOf({ kind: 'Good' });
      await store().commitFunction({ ...good, release: { ...good.release, readme } });
      // Any publisher can use the bytes of a definition as a README.
      const sly = changeOf({ kind: 'Sly' });
      await store().commitFunction({ ...sly, release: { ...sly.release, readme: one.release.digest } });
      const { blobs } = await store().commitTakedown(planned(one, 1));
      const name = (kind: string) => ({ group: 'example.com', kind, release: '1.0.0' });
      expect(blobs).toEqual([
        { digest: one.release.digest, keptBy: [name('Sly')] },
        { digest: readme, keptBy: [name('Good')] },
      ]);
      expect((await store().unfinishedTakedowns())?.blobs).toEqual([]);
    });

    it('delete files that were stored with the release, except those that other releases use', async () => {
      const bytesOf = ({ group, kind, release }: FunctionChange['release']) =>
        Buffer.from(`${group}/${kind}@${release}`);
      const readme = Buffer.from('readme');
      const good = changeOf({ kind: 'Good' });
      for (const change of [one, good]) {
        const release = { ...change.release, readme: sha256(readme) };
        await store().commitFunction({ ...change, release }, [], [bytesOf(release), readme]);
      }
      expect(await store().fileBytes(one.release.digest)).toEqual(bytesOf(one.release));
      await store().commitTakedown(planned(one, 1), { dryRun: true });
      expect(await store().fileBytes(one.release.digest)).toEqual(bytesOf(one.release));
      await store().commitTakedown(planned(one, 1));
      expect(await store().fileBytes(one.release.digest)).toBeUndefined();
      expect(await store().fileBytes(good.release.digest)).toEqual(bytesOf(good.release));
      expect(await store().fileBytes(sha256(readme))).toEqual(readme);
    });

    it('are unfinished until all their bytes are deleted', async () => {
      await store().commitFunction(one);
      expect(await store().unfinishedTakedowns()).toBeUndefined();
      await store().commitTakedown(planned(one, 1));
      expect(await store().unfinishedTakedowns()).toEqual({
        takedowns: [takedownOf(one.release)],
        blobs: [one.release.digest],
      });
      // An interrupted build had rendered it, and no snapshot names it.
      const orphan = { digest: sha256('orphan'), yaml: 'orphan', json: 'orphan' };
      await store().storeEntries([orphan]);
      await store().finishTakedowns();
      await expect(store().entries([orphan.digest])).rejects.toMatchObject({ code: 'internal' });
      expect(await store().unfinishedTakedowns()).toBeUndefined();
      expect(await store().allTakedowns()).toHaveLength(1);
    });

    it('have a dry run', async () => {
      await store().commitFunction(one);
      await apply('c');
      await cut('c', [place(one)], ['1.0.0']);
      const rehearsed = await store().commitTakedown(planned(one, 1), { dryRun: true });
      expect(await store().release('example.com', 'Bad', '1.0.0')).toEqual(one.release);
      expect((await store().catalog('c'))?.newest?.withdrawn).toBeUndefined();
      expect(await store().lastEvent()).toBe(2);
      expect(await store().commitTakedown(planned(one, 1))).toEqual(rehearsed);
    });

    it('survive a restart', async ({ skip }) => {
      const { reopen } = harness();
      if (reopen === undefined) return skip('this store is not persistent');
      await store().commitFunction(one);
      await store().commitTakedown(planned(one, 1));
      const reopened = await reopen();
      expect(await reopened.allTakedowns()).toEqual([takedownOf(one.release)]);
      expect((await reopened.unfinishedTakedowns())?.blobs).toEqual([one.release.digest]);
      await expect(reopened.commitFunction(one)).rejects.toMatchObject({ code: 'conflict' });
    });
  });

  describe('revocations', () => {
    it('are yanks, unyanks, takedowns and withdrawn snapshots, in order and in pages', async () => {
      await store().commitFunction(one);
      const mark = { at: AT, by: 'x', reason: 'broken' };
      await store().commitFunction(
        changeOf({ kind: 'Bad', release: '1.0.0', yanked: mark }, 1, 'update', 'release.yanked'),
      );
      await store().commitFunction(
        changeOf({ kind: 'Bad', release: '1.0.0' }, 2, 'update', 'release.unyanked'),
      );
      await store().commitFunction(changeOf({ kind: 'Good' }));
      await store().commitTakedown(planned(one, 3));
      const all = await store().revocations(0, 9);
      expect(all.map(({ sequence, type }) => [sequence, type])).toEqual([
        [2, 'release.yanked'],
        [3, 'release.unyanked'],
        [5, 'release.taken-down'],
      ]);
      expect(await store().revocations(2, 1)).toEqual([all[1]]);
      expect(await store().revocations(5, 9)).toEqual([]);
      expect(await store().revocations(0, 0)).toEqual([]);
    });
  });
}
