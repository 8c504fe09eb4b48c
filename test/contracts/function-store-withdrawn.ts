import { type CatalogEntryRow, RevisionConflict } from '@krmhub/catalog';
import { type Digest, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStoreHarness } from './registry-store.js';
import { digestsOf, NAME, takedownOf, takedownSteps } from './takedown-steps.js';

/** Snapshots that contained a release before its takedown. */
export function withdrawnContract(harness: () => RegistryStoreHarness): void {
  const { store, one, two, planned, place, apply, cut } = takedownSteps(harness);

  describe('snapshots that contained the release', () => {
    it('are withdrawn, and keep names and digests but no content', async () => {
      await store().commitFunction(one);
      await store().commitFunction(two);
      await apply('c');
      await cut('c', [place(two)], ['2.0.0']);
      await cut('c', [place(one)], ['1.0.0']);
      await cut('c', [place(two)], []);
      const { withdrawn } = await store().commitTakedown(planned(one, 2, two));
      const digest = digestsOf('c 2')['catalog.yaml'];
      expect(withdrawn).toEqual([{ catalog: 'c', serial: 2, digest }]);
      expect((await store().snapshot('c', 2))?.withdrawn).toEqual(takedownOf(one.release));
      expect((await store().snapshot('c', 1))?.withdrawn).toBeUndefined();
      expect((await store().catalog('c'))?.newest).not.toHaveProperty('withdrawn');
      expect(await store().snapshotEntryRows('c', 2)).toEqual([place(one, undefined)].map(withoutEntry));
      expect(await store().snapshotEntryRows('c', 3)).toEqual([place(two)]);
      await expect(store().entries([sha256('1.0.0')])).rejects.toMatchObject({ code: 'internal' });
      expect((await store().entries([sha256('2.0.0')])).size).toBe(1);
      expect((await store().revocations(0, 9)).map(({ type, serial }) => [type, serial])).toEqual([
        ['release.taken-down', undefined],
        ['catalog.withdrawn', 2],
      ]);
    });

    it('leave the function without an entry until the next build', async () => {
      await store().commitFunction(one);
      await apply('c');
      await cut('c', [place(one)], ['1.0.0']);
      await store().commitTakedown(planned(one, 1));
      expect((await store().catalog('c'))?.newest?.withdrawn).toEqual(takedownOf(one.release));
      const empty = { ...NAME, versions: [], shadowed: [], yanked: [] };
      expect(await store().latestEntryRows('c')).toEqual([empty]);
      expect(await store().catalogsContaining('example.com', 'Bad')).toEqual([]);
      await cut('c', [], []);
      expect(await store().snapshotEntryRows('c', 2)).toEqual([empty]);
      expect((await store().catalog('c'))?.newest).toMatchObject({ serial: 2 });
    });

    it('are not followed by a build that was planned before', async () => {
      await store().commitFunction(one);
      await apply('c');
      await apply('d');
      await cut('d', [], []);
      const before = await store().lastEvent();
      await store().commitTakedown(planned(one, 1));
      await expect(cut('c', [place(one)], ['1.0.0'], before)).rejects.toThrow(RevisionConflict);
      await expect(cut('d', [place(one)], ['1.0.0'], before)).rejects.toThrow(RevisionConflict);
      await expect(store().entries([sha256('1.0.0')])).rejects.toThrow();
      await cut('c', [], []);
      await cut('d', [], []);
    });

    it('lose an entry only if no other release has the same bytes', async () => {
      await store().commitFunction(one);
      await store().commitFunction(two);
      await apply('c');
      await apply('d');
      await cut('c', [place(one, 'same')], ['same']);
      await cut('d', [place(two, 'same')], []);
      await store().commitTakedown(planned(one, 2, two));
      expect((await store().entries([sha256('same')])).size).toBe(1);
      expect((await store().catalog('d'))?.newest).not.toHaveProperty('withdrawn');
      await store().commitTakedown({ ...planned(two, 3), takedowns: [takedownOf(two.release)] });
      await expect(store().entries([sha256('same')])).rejects.toThrow();
    });

    it('have no profiles left', async () => {
      await store().commitFunction(one);
      await apply('c');
      await cut('c', [place(one)], ['1.0.0']);
      await apply('d');
      await cut('d', [], []);
      const held = digestsOf('c 1')['catalog.yaml'];
      const other = digestsOf('d 1')['catalog.yaml'];
      const orphan = sha256('of an interrupted request');
      await store().recordProfileBlobs([{ digest: orphan, coding: 'br', blob: sha256('orphan') }]);
      const [heldProfile, otherProfile, report] = ['held', 'other', 'report'].map((text) => sha256(text)) as [
        Digest,
        Digest,
        Digest,
      ];
      await store().recordProfileBlobs(
        [heldProfile, otherProfile, report].map((digest) => ({ digest, coding: 'identity', blob: digest })),
      );
      const profile = { profile: 'porch', revision: 1, report } as const;
      await store().recordProfile({ ...profile, snapshot: held, digest: heldProfile });
      await store().recordProfile({ ...profile, snapshot: other, digest: otherProfile });
      await store().commitTakedown(planned(one, 1));
      expect(await store().deleteWithdrawnProfiles()).toEqual(new Set([otherProfile, report]));
      expect(await store().storedProfile(held, 'porch')).toBeUndefined();
      expect(await store().storedProfile(other, 'porch')).toBeDefined();
      expect(await store().profileBlob(heldProfile, 'identity')).toBeUndefined();
      expect(await store().profileBlob(orphan, 'br')).toBeUndefined();
      expect(await store().profileBlob(otherProfile, 'identity')).toBe(otherProfile);
    });

    it('have no segment left with their entry', async () => {
      await store().commitFunction(one);
      await apply('c');
      await apply('d');
      const segment = (text: string) => ({
        digest: sha256(text),
        yaml: Buffer.from(text),
        json: Buffer.from(text),
      });
      const at = (kind: string, text: string) => ({ ...NAME, kind, digest: sha256(text), lines: text });
      const segments = (...added: ReturnType<typeof at>[]) => ({
        removed: [],
        added,
        contents: ['first', 'bad', 'last'].map(segment),
      });
      await cut(
        'c',
        [place(one)],
        ['1.0.0'],
        undefined,
        segments(at('A', 'first'), at('Ba', 'bad'), at('Z', 'last')),
      );
      await cut('d', [], [], undefined, segments(at('A', 'first')));
      await store().commitTakedown(planned(one, 1));
      expect((await store().segments('c', 1))?.map(({ kind }) => kind)).toEqual(['A', 'Z']);
      expect((await store().segments('d', 1))?.map(({ kind }) => kind)).toEqual(['A']);
      expect(await store().missingSegments(['first', 'bad', 'last'].map((text) => sha256(text)))).toEqual([
        sha256('bad'),
      ]);
    });
  });
}

function withoutEntry({ entry: _, ...rest }: CatalogEntryRow): CatalogEntryRow {
  return rest;
}
