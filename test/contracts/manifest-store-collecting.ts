import type { BlobPosition } from '@krmhub/oci';
import { MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import {
  change,
  EARLY,
  LATE,
  type ManifestStoreHarness,
  NOON,
  put,
  REPOSITORY,
  sampleBlob,
  sampleManifest,
} from './manifest-store.js';

export function collectingContract(harness: () => ManifestStoreHarness): void {
  const store = () => harness().store;
  const add = (text: string, at = EARLY, repository = REPOSITORY) =>
    store().addBlob(repository, sampleBlob(text), change(at));
  const isThere = async (text: string, repository = REPOSITORY) =>
    (await store().blob(repository, sha256(text))) !== undefined;
  const forgetBlobs = (after = { repository: '', digest: '' }, limit = 100) =>
    store().deleteUnreferencedBlobs({ seenBefore: NOON, after, limit });

  describe('unreferenced blobs', () => {
    it('are collected if they were last used before the limit', async () => {
      await add('old');
      await add('at that time', NOON);
      await add('new', LATE);
      expect(await forgetBlobs()).toEqual({ forgotten: 1, last: undefined });
      expect([await isThere('old'), await isThere('at that time'), await isThere('new')]).toEqual([
        false,
        true,
        true,
      ]);
      expect(await store().findUnreferencedFiles([sha256('old'), sha256('new')])).toEqual([sha256('old')]);
    });

    it('are never those that a release names', async () => {
      for (const text of ['named', 'left']) await add(text);
      await harness().publish('A', `oci://registry.example.com/team/tools@${sha256('named')}`);
      expect((await forgetBlobs()).forgotten).toBe(1);
      expect([await isThere('named'), await isThere('left')]).toEqual([true, false]);
    });

    it('are collected with their bytes', async () => {
      const file = sha256('old');
      const row = { digest: file, file, size: 3, place: 'rows', bytes: Buffer.from('old') } as const;
      await store().addBlob(REPOSITORY, row, change(EARLY));
      expect((await forgetBlobs()).forgotten).toBe(1);
      expect(await store().rowBytes(file)).toBeUndefined();
    });

    it('stay if they were used, pushed or mounted again', async () => {
      for (const text of ['seen', 'pushed', 'mounted', 'left']) await add(text);
      await store().touchBlob(REPOSITORY, sha256('seen'), LATE);
      await add('pushed', LATE);
      await store().mountBlob(REPOSITORY, REPOSITORY, sha256('mounted'), change(LATE));
      expect((await forgetBlobs()).forgotten).toBe(1);
      for (const text of ['seen', 'pushed', 'mounted'])
        expect([text, await isThere(text)]).toEqual([text, true]);
    });

    it('are never those that a manifest of the repository names', async () => {
      await add('named');
      await add('named', EARLY, 'team/other');
      const manifest = await put(store(), sampleManifest('{}', { references: [sha256('named')] }), {
        at: EARLY,
      });
      expect((await forgetBlobs()).forgotten).toBe(1);
      expect([await isThere('named'), await isThere('named', 'team/other')]).toEqual([true, false]);
      await store().deleteManifest(REPOSITORY, manifest, change());
      expect((await forgetBlobs()).forgotten).toBe(1);
      expect(await isThere('named')).toBe(false);
    });

    it('are collected as files of releases too, if they were mounted and are unreferenced', async () => {
      const release = { ...sampleBlob('release'), place: 'releases' as const };
      await store().addBlob('functions/a/b', release, change(EARLY));
      await put(store(), sampleManifest('{}', { references: [release.digest] }), {
        repository: 'functions/a/b',
        tag: '1.0.0',
        at: EARLY,
      });
      await store().mountBlob('functions/a/b', REPOSITORY, release.digest, change(EARLY));
      expect((await forgetBlobs()).forgotten).toBe(1);
      expect([await isThere('release'), await isThere('release', 'functions/a/b')]).toEqual([false, true]);
      expect(await store().countBytes(REPOSITORY)).toBe(0);
    });

    it('are searched in many repositories, in pages', async () => {
      const names = Array.from({ length: 23 }, (_, at) => `team/r${String(at).padStart(2, '0')}`);
      for (const [at, name] of names.entries()) await add('blob', at % 2 === 0 ? EARLY : LATE, name);
      let forgotten = 0;
      const looked: (string | undefined)[] = [];
      for (let after: BlobPosition | undefined = { repository: '', digest: '' }; after !== undefined; ) {
        const page = await forgetBlobs(after, 10);
        forgotten += page.forgotten;
        looked.push(page.last?.repository);
        after = page.last;
      }
      expect(looked).toEqual(['team/r09', 'team/r19', undefined]);
      expect(forgotten).toBe(12);
      for (const [at, name] of names.entries()) expect(await isThere('blob', name)).toBe(at % 2 === 1);
    });

    it('are searched among many of one repository, in pages', async () => {
      for (let at = 0; at < 25; at++) await add(`blob ${at}`);
      const first = await forgetBlobs(undefined, 10);
      expect([first.forgotten, first.last?.repository]).toEqual([10, REPOSITORY]);
      expect((await forgetBlobs(first.last, 10)).forgotten).toBe(10);
      expect(await forgetBlobs(undefined, 10)).toEqual({ forgotten: 5, last: undefined });
    });

    it('end also if the last repositories fill their page', async () => {
      for (const name of ['a', 'b']) await add('blob', EARLY, name);
      const last = { repository: 'b', digest: sha256('blob') };
      expect(await forgetBlobs(undefined, 2)).toEqual({ forgotten: 2, last });
      expect(await forgetBlobs(last, 2)).toEqual({ forgotten: 0, last: undefined });
    });

    it('stay if a manifest names them meanwhile, and a late manifest is refused', async () => {
      const blobs = Array.from({ length: 40 }, (_, at) => `blob ${at}`);
      for (const text of blobs) await add(text);
      const puts = blobs.map((text) =>
        put(store(), sampleManifest(`of ${text}`, { references: [sha256(text)] })).then(
          () => true,
          () => false,
        ),
      );
      const { forgotten } = await forgetBlobs();
      const stored = await Promise.all(puts);
      for (const [at, text] of blobs.entries()) expect(await isThere(text)).toBe(stored[at]);
      expect(forgotten).toBe(stored.filter((one) => !one).length);
    });
  });

  describe('unreachable manifests', () => {
    const isKept = async (digest: string, repository = REPOSITORY) =>
      (await store().manifest(repository, digest)) !== undefined;
    const forget = () => store().deleteUntaggedManifests({ pushedBefore: NOON, at: NOON });
    const old = (text: string, more: Parameters<typeof sampleManifest>[1] = {}, tag?: string) =>
      put(store(), sampleManifest(text, more), {
        at: EARLY,
        needed: [],
        ...(tag === undefined ? {} : { tag }),
      });

    it('are collected if they were pushed before the limit and have no tag', async () => {
      const lone = await old('lone');
      const tagged = await old('tagged', {}, 'v1');
      const [atThatTime, later] = [sampleManifest('then'), sampleManifest('later')];
      await put(store(), atThatTime, { at: NOON });
      await put(store(), later, { at: LATE });
      expect(await forget()).toBe(1);
      expect(await isKept(lone)).toBe(false);
      for (const digest of [tagged, atThatTime.digest, later.digest]) expect(await isKept(digest)).toBe(true);
      await store().deleteTag(REPOSITORY, 'v1', change());
      expect(await forget()).toBe(1);
      expect(await isKept(tagged)).toBe(false);
    });

    it('are not those that were pushed again since', async () => {
      const again = await old('again');
      await put(store(), sampleManifest('again'), { at: LATE });
      expect(await forget()).toBe(0);
      expect(await isKept(again)).toBe(true);
    });

    it('are not the manifests of a tagged index, at any depth', async () => {
      const leaf = await old('leaf');
      const middle = await old('middle', { mediaType: MEDIA_TYPES.index, references: [leaf] });
      const top = await old('top', { mediaType: MEDIA_TYPES.index, references: [middle] }, 'v1');
      const loneChild = await old('lone child');
      const loneIndex = await old('lone index', { references: [loneChild, leaf] });
      expect(await forget()).toBe(2);
      for (const digest of [leaf, middle, top]) expect(await isKept(digest)).toBe(true);
      for (const digest of [loneChild, loneIndex]) expect(await isKept(digest)).toBe(false);
    });

    it('are not the referrers of reachable manifests, nor their referrers', async () => {
      const child = await old('child');
      await old('index', { references: [child] }, 'v1');
      const signature = await old('signature', { subject: child });
      const ofSignature = await old('of the signature', { subject: signature });
      const part = await old('part');
      const attestation = await old('attestation', { subject: child, references: [part] });
      const ofNothing = await old('of nothing', { subject: sha256('nothing') });
      const ofDead = await old('of the unreachable', { subject: ofNothing });
      expect(await forget()).toBe(2);
      for (const digest of [child, signature, ofSignature, part, attestation])
        expect(await isKept(digest)).toBe(true);
      for (const digest of [ofNothing, ofDead]) expect(await isKept(digest)).toBe(false);
    });

    it('may be in cycles, and reachable cycles stay', async () => {
      const names = ['a', 'b'].map((text) => sampleManifest(text).digest);
      await old('a', { references: [names[1]!] }, 'v1');
      await old('b', { references: [names[0]!], subject: names[0]! });
      const dead = ['c', 'd'].map((text) => sampleManifest(text).digest);
      await old('c', { references: [dead[1]!], subject: dead[1]! });
      await old('d', { subject: dead[0]!, references: [dead[1]!] });
      expect(await forget()).toBe(2);
      for (const digest of names) expect(await isKept(digest)).toBe(true);
    });

    it('depend on one repository: a tag in another one keeps nothing here', async () => {
      const child = await old('child');
      const index = sampleManifest('index', { references: [child] });
      await put(store(), index, { repository: 'team/other', tag: 'v1', at: EARLY, needed: [] });
      expect(await forget()).toBe(1);
      expect([await isKept(child), await isKept(index.digest, 'team/other')]).toEqual([false, true]);
    });

    it('are never those of functions and catalogs, but those of a repository with the same name', async () => {
      const ours = ['functions/example.com/x', 'catalogs/default'];
      const others = ['functionsx/a', 'functions-x', 'team/functions/x', 'catalogsx/y', 'function/s'];
      const manifest = sampleManifest('{}');
      for (const repository of [...ours, ...others]) await put(store(), manifest, { repository, at: EARLY });
      expect(await forget()).toBe(others.length);
      for (const repository of ours) expect(await isKept(manifest.digest, repository)).toBe(true);
      for (const repository of others) expect(await isKept(manifest.digest, repository)).toBe(false);
    });

    it('are not those that a release names, nor those with a file that it names', async () => {
      const pinned = await old('pinned');
      const signature = await old('signature', { subject: pinned });
      for (const file of ['script', 'other script']) await add(file);
      const holder = await old('holder', { references: [sha256('script')] });
      const lone = await old('lone', { references: [sha256('other script')] });
      await harness().publish('A', `oci://registry.example.com/team/tools@${pinned}`);
      await harness().publish('B', `oci://registry.example.com/team/tools@${sha256('script')}`);
      expect(await forget()).toBe(1);
      for (const digest of [pinned, signature, holder]) expect(await isKept(digest)).toBe(true);
      expect(await isKept(lone)).toBe(false);
      expect((await forgetBlobs()).forgotten).toBe(1);
      expect([await isThere('script'), await isThere('other script')]).toEqual([true, false]);
    });

    it('leave their parts to the next collection', async () => {
      await add('layer');
      await put(store(), sampleManifest('{}', { references: [sha256('layer')] }), { at: EARLY });
      expect((await forgetBlobs()).forgotten).toBe(0);
      expect(await forget()).toBe(1);
      expect((await forgetBlobs()).forgotten).toBe(1);
    });
  });
}
