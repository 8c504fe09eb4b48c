import type { FunctionStore } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { ProfileStore } from '../../apps/registry/src/store/profile-store.js';

/** The contract of every ProfileStore. */
export function profileContract(store: () => ProfileStore & FunctionStore): void {
  describe('blobs of profiles', () => {
    const [one, two, gzip, shared] = ['one', 'two', 'gzip', 'shared'].map((text) => sha256(text)) as [
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
    ];

    it('are stored by digest and coding', async () => {
      await store().recordProfileBlobs([
        { digest: one, coding: 'identity', blob: one },
        { digest: one, coding: 'gzip', blob: shared },
      ]);
      await store().recordProfileBlobs([{ digest: one, coding: 'gzip', blob: gzip }]);
      expect(await store().profileBlob(one, 'identity')).toBe(one);
      expect(await store().profileBlob(one, 'gzip')).toBe(gzip);
      expect(await store().profileBlob(one, 'br')).toBeUndefined();
      expect(await store().profileBlob(two, 'identity')).toBeUndefined();
    });
  });

  describe('profiles of snapshots', () => {
    const [snapshot, text, report, other] = ['snapshot', 'text', 'report', 'other'].map((one) =>
      sha256(one),
    ) as [
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
    ];
    const form = { snapshot, profile: 'porch', revision: 1, digest: text, report } as const;
    const keep = async (...digests: ReturnType<typeof sha256>[]) =>
      store().recordProfileBlobs(digests.map((digest) => ({ digest, coding: 'identity', blob: digest })));

    it('are found by snapshot and profile', async () => {
      expect(await store().storedProfile(snapshot, 'porch')).toBeUndefined();
      await keep(text, report);
      expect(await store().recordProfile(form)).toEqual([]);
      expect(await store().storedProfile(snapshot, 'porch')).toEqual(form);
      expect(await store().storedProfile(snapshot, 'kep')).toBeUndefined();
      expect(await store().storedProfile(text, 'porch')).toBeUndefined();
    });

    it('release the blobs of replaced ones, but not those that another one has', async () => {
      await keep(text, report, other);
      await store().recordProfile(form);
      await store().recordProfile({ ...form, profile: 'kep', digest: other });
      const newer = { ...form, revision: 2, digest: other };
      expect(await store().recordProfile(newer)).toEqual([text]);
      expect(await store().storedProfile(snapshot, 'porch')).toEqual(newer);
      expect(await store().profileBlob(text, 'identity')).toBeUndefined();
      expect(await store().profileBlob(report, 'identity')).toBe(report);
      expect(await store().recordProfile(newer)).toEqual([]);
    });

    it('are deleted with their snapshot, all of them', async () => {
      await keep(text, report, other);
      await store().recordProfile(form);
      await store().recordProfile({ ...form, profile: 'kep' });
      await store().recordProfile({ ...form, snapshot: other, digest: other });
      expect(await store().deleteProfiles([snapshot])).toEqual([text]);
      expect(await store().storedProfile(snapshot, 'kep')).toBeUndefined();
      expect(await store().storedProfile(other, 'porch')).toMatchObject({ report });
      expect((await store().deleteProfiles([other, snapshot])).sort()).toEqual([other, report].sort());
    });
  });
}
