import { computeDigest, EMPTY_CONFIG, MEDIA_TYPES, type OciDigest, UnknownReferences } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import {
  change,
  LATE,
  type ManifestStoreHarness,
  put,
  REPOSITORY,
  sampleBlob,
  sampleManifest,
} from './manifest-store.js';

const EMPTY = computeDigest(EMPTY_CONFIG);

export function manifestContract(harness: () => ManifestStoreHarness): void {
  const store = () => harness().store;
  const find = (reference: string, repository = REPOSITORY) => store().manifest(repository, reference);
  const tagsOf = (repository = REPOSITORY) => store().tags(repository, '', 100);

  describe('manifests', () => {
    it('are found by tag and by digest, with their exact bytes and media type', async () => {
      const annotations = { 'a.b': 'c', __proto__x: 'é\u0000\u{1f600}' };
      const text = '{ "schemaVersion":2,\n\t"x": "é\u{1f600}"}\n';
      const record = sampleManifest(text, {
        mediaType: MEDIA_TYPES.dockerIndex,
        artifactType: 'application/x',
        annotations,
      });
      await put(store(), record, { tag: 'v1' });
      const descriptor = {
        digest: record.digest,
        mediaType: MEDIA_TYPES.dockerIndex,
        size: record.bytes.byteLength,
        artifactType: 'application/x',
      };
      for (const reference of ['v1', record.digest]) {
        const found = (await find(reference))!;
        const { bytes, ...rest } = found;
        expect(Buffer.compare(bytes, record.bytes)).toBe(0);
        expect(rest).toEqual(descriptor);
        expect(await store().manifestDescriptor(REPOSITORY, reference)).toEqual(descriptor);
      }
    });

    it('have no artifact type and annotations if none were given', async () => {
      const digest = await put(store(), sampleManifest('{}'));
      expect(Object.keys((await store().manifestDescriptor(REPOSITORY, digest))!).sort()).toEqual([
        'digest',
        'mediaType',
        'size',
      ]);
    });

    it('are stored from a part of a bigger buffer', async () => {
      const whole = new TextEncoder().encode('xx{}yy');
      const record = { ...sampleManifest('{}'), bytes: whole.subarray(2, 4) };
      await put(store(), record);
      expect(Buffer.from((await find(record.digest))!.bytes).toString()).toBe('{}');
    });

    it('are unknown in other repositories, under other tags and by parts of their names', async () => {
      const digest = await put(store(), sampleManifest('{}'), { tag: 'v1' });
      for (const reference of ['v2', 'V1', 'v1 ', 'v', '%', sha256('other'), digest.slice(7)]) {
        expect([reference, await find(reference)]).toEqual([reference, undefined]);
        expect(await store().manifestDescriptor(REPOSITORY, reference)).toBeUndefined();
      }
      for (const other of ['team', 'team/tool', 'team/tools/x', 'Team/tools', 'team/tools%']) {
        expect([other, await find(digest, other), await find('v1', other)]).toEqual([
          other,
          undefined,
          undefined,
        ]);
      }
    });

    it('are found by sha512 if they were stored by it', async () => {
      const bytes = new TextEncoder().encode('{"a":1}');
      const digest = computeDigest(bytes, `sha512:${'0'.repeat(128)}`);
      const record = sampleManifest('{"a":1}', { digest });
      await put(store(), record, { tag: 'v1' });
      expect((await find(digest))?.digest).toBe(digest);
      expect((await find('v1'))?.digest).toBe(digest);
      expect(await find(sha256('{"a":1}'))).toBeUndefined();
    });

    it('can be stored again, also with other tags', async () => {
      const record = sampleManifest('{}');
      await put(store(), record);
      await put(store(), record, { tag: 'b' });
      await put(store(), record, { tag: 'a' });
      await put(store(), record);
      expect(await tagsOf()).toEqual(['a', 'b']);
      expect((await find(record.digest))?.size).toBe(2);
    });
  });

  describe('tags', () => {
    it('move, and the old manifest stays by its digest', async () => {
      const one = await put(store(), sampleManifest('1'), { tag: 'latest' });
      const two = await put(store(), sampleManifest('2'), { tag: 'latest' });
      expect((await find('latest'))?.digest).toBe(two);
      expect((await find(one))?.digest).toBe(one);
      expect(await store().listManifestTags(REPOSITORY, one)).toEqual([]);
      await put(store(), sampleManifest('2'), { tag: 'also' });
      expect(await store().listManifestTags(REPOSITORY, two)).toEqual(['also', 'latest']);
      await store().deleteTag(REPOSITORY, 'also', change());
      await put(store(), sampleManifest('1'), { tag: 'latest' });
      expect((await find('latest'))?.digest).toBe(one);
      expect(await tagsOf()).toEqual(['latest']);
    });

    it('belong to one repository', async () => {
      const digest = await put(store(), sampleManifest('1'), { tag: 'v1' });
      await put(store(), sampleManifest('1'), { repository: 'team/other' });
      expect(await store().listManifestTags('team/other', digest)).toEqual([]);
      expect(await store().deleteTag('team/other', 'v1', change())).toBe(false);
      expect(await tagsOf('team/other')).toEqual([]);
      expect(await tagsOf()).toEqual(['v1']);
    });

    it('are listed in code unit order, with `last` and `n`', async () => {
      const names = ['10', '2', 'B', '_', 'a', 'a-1', 'a.1', 'a_1', 'aa', 'b'];
      for (const tag of [...names].reverse()) await put(store(), sampleManifest('1'), { tag });
      expect(await tagsOf()).toEqual([...names].sort());
      expect(await store().tags(REPOSITORY, 'B', 3)).toEqual(['_', 'a', 'a-1']);
      expect(await store().tags(REPOSITORY, 'C', 1)).toEqual(['_']);
      expect(await store().tags(REPOSITORY, 'b', 3)).toEqual([]);
      expect(await store().tags('team/unknown', '', 3)).toBeUndefined();
    });

    it('are deleted alone, or with their manifest', async () => {
      const digest = await put(store(), sampleManifest('1'), { tag: 'a' });
      await put(store(), sampleManifest('1'), { tag: 'b' });
      await put(store(), sampleManifest('2'), { tag: 'c' });
      expect(await store().deleteTag(REPOSITORY, 'a', change())).toBe(true);
      expect(await store().deleteTag(REPOSITORY, 'a', change())).toBe(false);
      expect((await find(digest))?.digest).toBe(digest);
      expect(await store().deleteManifest(REPOSITORY, digest, change())).toBe(true);
      expect(await store().deleteManifest(REPOSITORY, digest, change())).toBe(false);
      expect(await store().deleteManifest('team/unknown', digest, change())).toBe(false);
      expect([await find(digest), await find('b')]).toEqual([undefined, undefined]);
      expect(await tagsOf()).toEqual(['c']);
      await store().deleteTag(REPOSITORY, 'c', change());
      expect(await tagsOf()).toEqual([]);
    });

    it('point to one of 50 concurrently stored manifests, and all exist by digest', async () => {
      const records = Array.from({ length: 50 }, (_, at) => sampleManifest(`manifest ${at}`));
      await Promise.all(records.map((record) => put(store(), record, { tag: 'latest' })));
      expect(await tagsOf()).toEqual(['latest']);
      expect(records.map(({ digest }) => digest)).toContain((await find('latest'))?.digest);
      for (const record of records) {
        expect(Buffer.compare((await find(record.digest))!.bytes, record.bytes)).toBe(0);
      }
      const bytes = records.reduce((sum, { size }) => sum + size, 0);
      expect(await store().countBytes(REPOSITORY)).toBe(bytes);
    });

    it('survive a restart with all that they name', async () => {
      const { reopen } = harness();
      if (reopen === undefined) return;
      await store().addBlob(REPOSITORY, sampleBlob('layer'), change());
      const record = sampleManifest('{}', { references: [sha256('layer')], subject: sha256('subject') });
      await put(store(), record, { tag: 'v1' });
      const opened = await reopen();
      expect((await opened.manifest(REPOSITORY, 'v1'))?.digest).toBe(record.digest);
      expect(await opened.blob(REPOSITORY, sha256('layer'))).toMatchObject({ place: 'artifacts', size: 10 });
      expect(await opened.deleteBlob(REPOSITORY, sha256('layer'), change())).toBe('named');
      expect(await opened.countBytes(REPOSITORY)).toBe(12);
      const page = { after: '', limit: 9 };
      expect(await opened.referrers(REPOSITORY, sha256('subject'), page)).toHaveLength(1);
    });
  });

  describe('the parts that a manifest needs', () => {
    it('must exist, and the error names all missing ones', async () => {
      await store().addBlob(REPOSITORY, sampleBlob('here'), change());
      await store().addBlob('team/other', sampleBlob('elsewhere'), change());
      const references = ['here', 'elsewhere', 'nowhere'].map((text): OciDigest => sha256(text));
      const attempt = put(store(), sampleManifest('{}', { references }), { tag: 'v1' });
      await expect(attempt).rejects.toBeInstanceOf(UnknownReferences);
      await expect(attempt).rejects.toMatchObject({ digests: [sha256('elsewhere'), sha256('nowhere')] });
      expect([await find('v1'), await store().countBytes(REPOSITORY)]).toEqual([undefined, 10]);
    });

    it('are missing in a new repository, and the refusal does not create it', async () => {
      const attempt = put(store(), sampleManifest('{}', { references: [sha256('x')] }));
      await expect(attempt).rejects.toBeInstanceOf(UnknownReferences);
      expect(await tagsOf()).toBeUndefined();
      expect(await store().repositories('', 9)).toEqual([]);
    });

    it('can be a manifest, or the blob {}, which always exists', async () => {
      const child = await put(store(), sampleManifest('child'));
      await put(store(), sampleManifest('index', { references: [child, EMPTY] }), { tag: 'v1' });
      expect((await find('v1'))?.size).toBe(5);
    });

    it('are checked each time, also for a manifest that exists', async () => {
      await store().addBlob(REPOSITORY, sampleBlob('layer'), change());
      const record = sampleManifest('{}', { references: [sha256('layer')] });
      await put(store(), record, { needed: [] });
      await expect(put(store(), record, { tag: 'v1', needed: [sha256('gone')] })).rejects.toBeInstanceOf(
        UnknownReferences,
      );
      expect(await tagsOf()).toEqual([]);
    });

    it('do not include parts that are stored outside of the registry', async () => {
      const record = sampleManifest('{}', { references: [sha256('foreign')] });
      await put(store(), record, { tag: 'v1', needed: [] });
      expect((await find('v1'))?.digest).toBe(record.digest);
    });

    it('must not be taken down', async () => {
      await put(store(), sampleManifest('good', { references: [sha256('good layer')] }), { needed: [] });
      await harness().takeDown(sha256('bad'));
      const record = sampleManifest('{}', { references: [sha256('bad')] });
      for (const needed of [[], record.references]) {
        await expect(put(store(), record, { tag: 'v1', needed })).rejects.toMatchObject({ code: 'gone' });
      }
      expect(await find(record.digest)).toBeUndefined();
      await put(store(), sampleManifest('better', { references: [sha256('good layer')] }), { needed: [] });
    });
  });

  describe('referrers', () => {
    const referrersOf = (
      subject: OciDigest,
      more: { artifactType?: string; after?: string; limit?: number },
    ) => store().referrers(REPOSITORY, subject, { after: '', limit: 100, ...more });

    it('are found by a subject that does not exist yet, and stay when it is deleted', async () => {
      const subject = sampleManifest('subject');
      const signature = sampleManifest('signature', {
        subject: subject.digest,
        artifactType: 'application/sig',
        annotations: { a: 'b' },
      });
      await put(store(), signature);
      const descriptor = {
        digest: signature.digest,
        mediaType: MEDIA_TYPES.image,
        size: 9,
        artifactType: 'application/sig',
        annotations: { a: 'b' },
      };
      expect(await referrersOf(subject.digest, {})).toEqual([descriptor]);
      await put(store(), subject);
      await store().deleteManifest(REPOSITORY, subject.digest, change());
      expect(await referrersOf(subject.digest, {})).toEqual([descriptor]);
      expect(await store().referrers('team/other', subject.digest, { after: '', limit: 9 })).toEqual([]);
      await store().deleteManifest(REPOSITORY, signature.digest, change());
      expect(await referrersOf(subject.digest, {})).toEqual([]);
    });

    it('are paged by digest, of one type or all', async () => {
      const subject = sha256('subject');
      const records = Array.from({ length: 7 }, (_, at) =>
        sampleManifest(`referrer ${at}`, {
          subject,
          ...(at < 6 && { artifactType: at % 2 === 0 ? 'even' : 'odd' }),
        }),
      );
      for (const record of records) await put(store(), record);
      await put(store(), sampleManifest('of another', { subject: sha256('another') }));
      const sorted = records.map(({ digest }) => digest).sort();
      const digests = async (more: Parameters<typeof referrersOf>[1]) =>
        (await referrersOf(subject, more)).map(({ digest }) => digest);
      expect(await digests({})).toEqual(sorted);
      expect(await digests({ limit: 3 })).toEqual(sorted.slice(0, 3));
      expect(await digests({ limit: 3, after: sorted[2]! })).toEqual(sorted.slice(3, 6));
      expect(await digests({ after: sorted[6]! })).toEqual([]);
      const even = [0, 2, 4].map((at) => records[at]!.digest).sort();
      expect(await digests({ artifactType: 'even' })).toEqual(even);
      expect(await digests({ artifactType: 'even', after: even[0]!, limit: 1 })).toEqual([even[1]]);
      expect(await digests({ artifactType: 'EVEN' })).toEqual([]);
      expect(await digests({ artifactType: '' })).toEqual([]);
    });

    it('do not need a tag', async () => {
      const digest = await put(store(), sampleManifest('1', { subject: sha256('s') }), { at: LATE });
      expect(await store().listManifestTags(REPOSITORY, digest)).toEqual([]);
    });
  });

  it('lists repositories in code unit order, with `last` and `n`', async () => {
    const names = ['a', 'a-b', 'a.b', 'a/b', 'a_b', 'aa', 'b'];
    const versions = [await store().repositoriesVersion()];
    for (const repository of [...names].reverse()) {
      await put(store(), sampleManifest('1'), { repository });
      versions.push(await store().repositoriesVersion());
    }
    expect(new Set(versions).size).toBe(names.length + 1);
    await put(store(), sampleManifest('2'), { repository: 'a' });
    expect(await store().repositoriesVersion()).toBe(versions.at(-1));
    expect(await store().repositories('', 100)).toEqual([...names].sort());
    expect(await store().repositories('a/b', 2)).toEqual(['a_b', 'aa']);
    expect(await store().repositories('b', 2)).toEqual([]);
  });
}
