import type { FunctionStore } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RenditionStore } from '../../apps/registry/src/store/rendition-store.js';
import { changeOf } from './sample-records.js';

/** The contract of every RenditionStore. */
export function renditionContract(store: () => RenditionStore & FunctionStore): void {
  describe('renditions', () => {
    const [one, two, gzip, shared] = ['one', 'two', 'gzip', 'shared'].map((text) => sha256(text)) as [
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
      ReturnType<typeof sha256>,
    ];

    it('are stored by digest and coding', async () => {
      await store().recordRenditions([
        { digest: one, coding: 'identity', blob: one },
        { digest: one, coding: 'gzip', blob: shared },
      ]);
      await store().recordRenditions([{ digest: one, coding: 'gzip', blob: gzip }]);
      expect(await store().renditionBlob(one, 'identity')).toBe(one);
      expect(await store().renditionBlob(one, 'gzip')).toBe(gzip);
      expect(await store().renditionBlob(one, 'br')).toBeUndefined();
      expect(await store().renditionBlob(two, 'identity')).toBeUndefined();
    });

    it('are evicted with the blobs that nothing else names', async () => {
      const change = changeOf({ kind: 'Fn' });
      change.release.readme = two;
      await store().commitFunction(change);
      await store().recordRenditions([
        { digest: one, coding: 'identity', blob: one },
        { digest: one, coding: 'gzip', blob: shared },
        { digest: gzip, coding: 'gzip', blob: shared },
        { digest: two, coding: 'identity', blob: two },
        { digest: two, coding: 'br', blob: change.release.digest },
      ]);
      expect(await store().deleteRenditions([one, two])).toEqual([one]);
      expect(await store().renditionBlob(one, 'identity')).toBeUndefined();
      expect(await store().deleteRenditions([one])).toEqual([]);
      expect(await store().deleteRenditions([gzip, gzip])).toEqual([shared]);
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
      store().recordRenditions(digests.map((digest) => ({ digest, coding: 'identity', blob: digest })));

    it('are found by snapshot and profile', async () => {
      expect(await store().profileRendition(snapshot, 'porch')).toBeUndefined();
      await keep(text, report);
      expect(await store().recordProfileRendition(form)).toEqual([]);
      expect(await store().profileRendition(snapshot, 'porch')).toEqual(form);
      expect(await store().profileRendition(snapshot, 'kep')).toBeUndefined();
      expect(await store().profileRendition(text, 'porch')).toBeUndefined();
    });

    it('release the blobs of replaced ones, but not those that another one has', async () => {
      await keep(text, report, other);
      await store().recordProfileRendition(form);
      await store().recordProfileRendition({ ...form, profile: 'kep', digest: other });
      const newer = { ...form, revision: 2, digest: other };
      expect(await store().recordProfileRendition(newer)).toEqual([text]);
      expect(await store().profileRendition(snapshot, 'porch')).toEqual(newer);
      expect(await store().renditionBlob(text, 'identity')).toBeUndefined();
      expect(await store().renditionBlob(report, 'identity')).toBe(report);
      expect(await store().recordProfileRendition(newer)).toEqual([]);
    });

    it('are deleted with their snapshot, all of them', async () => {
      await keep(text, report, other);
      await store().recordProfileRendition(form);
      await store().recordProfileRendition({ ...form, profile: 'kep' });
      await store().recordProfileRendition({ ...form, snapshot: other, digest: other });
      expect(await store().deleteProfileRenditions([snapshot])).toEqual([text]);
      expect(await store().profileRendition(snapshot, 'kep')).toBeUndefined();
      expect(await store().profileRendition(other, 'porch')).toMatchObject({ report });
      expect((await store().deleteProfileRenditions([other, snapshot])).sort()).toEqual(
        [other, report].sort(),
      );
    });
  });
}
