import { type OciDigest, QuotaExceeded } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import {
  change,
  type ManifestStoreHarness,
  NOON,
  put,
  REPOSITORY,
  sampleBlob,
  sampleManifest,
} from './manifest-store.js';

export function quotaContract(harness: () => ManifestStoreHarness): void {
  const store = () => harness().store;
  const add = (text: string, size: number, quota?: number, repository = REPOSITORY) =>
    store().addBlob(repository, sampleBlob(text, size), change(NOON, quota));
  const bytes = (repository = REPOSITORY) => store().countBytes(repository);

  describe('bytes of a repository', () => {
    it('are those of its blobs and manifests, each counted once', async () => {
      expect(await bytes()).toBe(0);
      await add('a', 100);
      await add('b', 20);
      await add('a', 100);
      await add('a', 100, undefined, 'team/other');
      expect(await bytes()).toBe(120);
      const manifest = sampleManifest('1234567', { references: [sha256('a')] });
      await put(store(), manifest);
      await put(store(), manifest, { tag: 'x' });
      await put(store(), manifest, { tag: 'y' });
      expect([await bytes(), await bytes('team/other')]).toEqual([127, 100]);
    });

    it('return to 0 when all is deleted, however it was added', async () => {
      await add('a', 100);
      await store().mountBlob(REPOSITORY, 'team/other', sha256('a'), change());
      const manifest = sampleManifest('1234567', { references: [sha256('a')] });
      for (const repository of [REPOSITORY, 'team/other']) {
        expect(await bytes(repository)).toBe(100);
        await store().mountBlob(REPOSITORY, repository, sha256('a'), change());
        await put(store(), manifest, { repository, tag: 'x' });
        await store().deleteTag(repository, 'x', change());
        expect(await bytes(repository)).toBe(107);
        await store().deleteManifest(repository, manifest.digest, change());
        await put(store(), manifest, { repository });
        expect(await bytes(repository)).toBe(107);
        await store().deleteManifest(repository, manifest.digest, change());
        await store().deleteManifest(repository, manifest.digest, change());
      }
      for (const repository of [REPOSITORY, 'team/other']) {
        await store().deleteBlob(repository, sha256('a'), change());
        await store().deleteBlob(repository, sha256('a'), change());
        expect(await bytes(repository)).toBe(0);
      }
    });

    it('return to 0 when nothing names them any more', async () => {
      await add('a', 100);
      await put(store(), sampleManifest('1234567', { references: [sha256('a')] }));
      const later = '2031-01-01T00:00:00.000Z';
      await store().deleteUntaggedManifests({ pushedBefore: later, at: later });
      expect(await bytes()).toBe(100);
      await store().deleteUnreferencedBlobs({
        seenBefore: later,
        after: { repository: '', digest: '' },
        limit: 10,
      });
      expect(await bytes()).toBe(0);
    });
  });

  describe('a quota', () => {
    it('is the exact limit of a repository, to the byte', async () => {
      await add('a', 60, 100);
      await add('b', 40, 100);
      const attempt = add('c', 1, 100);
      await expect(attempt).rejects.toBeInstanceOf(QuotaExceeded);
      await expect(attempt).rejects.toMatchObject({ bytes: 101, quota: 100 });
      expect(await store().blob(REPOSITORY, sha256('c'))).toBeUndefined();
      expect(await bytes()).toBe(100);
      await add('c', 1, 101);
      await add('d', 1);
      expect(await bytes()).toBe(102);
    });

    it('counts manifests and mounts', async () => {
      await add('a', 98, undefined, 'team/other');
      const mount = (quota: number) =>
        store().mountBlob('team/other', REPOSITORY, sha256('a'), change(NOON, quota));
      await expect(mount(97)).rejects.toBeInstanceOf(QuotaExceeded);
      expect(await store().blob(REPOSITORY, sha256('a'))).toBeUndefined();
      await mount(98);
      const manifest = sampleManifest('123');
      const attempt = put(store(), manifest, { tag: 'x', quota: 100 });
      await expect(attempt).rejects.toMatchObject({ bytes: 101, quota: 100 });
      expect(await store().manifest(REPOSITORY, manifest.digest)).toBeUndefined();
      await put(store(), manifest, { tag: 'x', quota: 101 });
    });

    it('allows existing content: pushes of it again, tags, and deletion', async () => {
      await add('a', 100);
      const manifest = sampleManifest('123');
      await put(store(), manifest);
      await add('a', 100, 10);
      await put(store(), manifest, { tag: 'again', quota: 10 });
      expect(await store().mountBlob(REPOSITORY, REPOSITORY, sha256('a'), change(NOON, 10))).toBe(true);
      await add('nothing', 0, 10);
      await expect(add('more', 1, 10)).rejects.toBeInstanceOf(QuotaExceeded);
      await store().deleteManifest(REPOSITORY, manifest.digest, change());
      expect(await bytes()).toBe(100);
    });

    it('of referrers holds for concurrent pushes, for each subject, and not for a push again', async () => {
      const pushReferrer = (text: string, subject: OciDigest, maxReferrers?: number) =>
        store().putManifest(REPOSITORY, sampleManifest(text, { subject }), {
          ...change(),
          needed: [],
          ...(maxReferrers === undefined ? {} : { maxReferrers }),
        });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 30 }, (_, at) => pushReferrer(`referrer ${at}`, sha256('one'), 5)),
      );
      const stored = outcomes.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []));
      expect(stored).toHaveLength(5);
      for (const at of stored) await pushReferrer(`referrer ${at}`, sha256('one'), 5);
      await expect(pushReferrer('one more', sha256('one'), 5)).rejects.toMatchObject({ code: 'conflict' });
      await pushReferrer('of another', sha256('two'), 5);
      // What the registry itself adds has no limit.
      await pushReferrer('one more', sha256('one'));
      await store().putManifest(REPOSITORY, sampleManifest('no referrer'), {
        ...change(),
        needed: [],
        maxReferrers: 0,
      });
      const found = await store().referrers(REPOSITORY, sha256('one'), { after: '', limit: 100 });
      expect(found).toHaveLength(6);
    });

    it('that refuses every push leaves no repository', async () => {
      await expect(add('a', 11, 10)).rejects.toBeInstanceOf(QuotaExceeded);
      expect(await store().repositories('', 9)).toEqual([]);
    });

    it('holds for 50 concurrent pushes', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, at) => add(`blob ${at}`, 10, 105)),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
      expect(await bytes()).toBe(100);
    });
  });
}
