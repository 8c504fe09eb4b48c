import { computeDigest, type OciDigest } from '@krmhub/oci';
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

const OTHER = 'team/other';
const BYTES = Buffer.from('blob');
const SHA512: OciDigest = computeDigest(new TextEncoder().encode('blob'), `sha512:${'0'.repeat(128)}`);

export function blobContract(harness: () => ManifestStoreHarness): void {
  const store = () => harness().store;
  const add = (text: string, repository = REPOSITORY, at = NOON) =>
    store().addBlob(repository, sampleBlob(text), change(at));
  const find = (digest: OciDigest, repository = REPOSITORY) => store().blob(repository, digest);

  describe('blobs', () => {
    it('are known to the repository that they were pushed to', async () => {
      await add('blob');
      expect(await find(sha256('blob'))).toEqual({ ...sampleBlob('blob'), seenAt: NOON });
      expect(await find(sha256('blob'), OTHER)).toBeUndefined();
      expect(await find(sha256('other'))).toBeUndefined();
      expect(await store().repositories('', 9)).toEqual([REPOSITORY]);
    });

    it('update their last use and file when they are pushed again', async () => {
      await store().addBlob(REPOSITORY, { ...sampleBlob('blob'), place: 'releases' }, change(EARLY));
      await add('blob');
      expect(await find(sha256('blob'))).toEqual({ ...sampleBlob('blob'), seenAt: NOON });
      expect(await store().countBytes(REPOSITORY)).toBe(10);
    });

    it('update their last use and file on request', async () => {
      await add('blob');
      await add('blob', OTHER);
      await add('more');
      await store().touchBlob(REPOSITORY, sha256('blob'), LATE);
      await store().touchBlob(REPOSITORY, sha256('unknown'), LATE);
      expect((await find(sha256('blob')))?.seenAt).toBe(LATE);
      expect((await find(sha256('more')))?.seenAt).toBe(NOON);
      expect((await find(sha256('blob'), OTHER))?.seenAt).toBe(NOON);
      expect(await find(sha256('unknown'))).toBeUndefined();
    });

    it('are deleted if no manifest names them', async () => {
      await add('blob');
      await add('named');
      await add('named', OTHER);
      expect(await store().deleteBlob(REPOSITORY, sha256('unknown'), change())).toBe('unknown');
      expect(await store().deleteBlob(OTHER, sha256('blob'), change())).toBe('unknown');
      expect(await store().deleteBlob(REPOSITORY, sha256('blob'), change())).toBe('deleted');
      expect(await store().deleteBlob(REPOSITORY, sha256('blob'), change())).toBe('unknown');
      const manifest = await put(store(), sampleManifest('{}', { references: [sha256('named')] }));
      expect(await store().deleteBlob(REPOSITORY, sha256('named'), change())).toBe('named');
      expect(await find(sha256('named'))).toBeDefined();
      expect(await store().deleteBlob(OTHER, sha256('named'), change())).toBe('deleted');
      await store().deleteManifest(REPOSITORY, manifest, change());
      expect(await store().deleteBlob(REPOSITORY, sha256('named'), change())).toBe('deleted');
    });

    it('list every manifest that names them', async () => {
      await add('blob');
      const manifests = ['1', '2'].map((text) => sampleManifest(text, { references: [sha256('blob')] }));
      for (const manifest of manifests) await put(store(), manifest);
      await store().deleteManifest(REPOSITORY, manifests[0]!.digest, change());
      expect(await store().deleteBlob(REPOSITORY, sha256('blob'), change())).toBe('named');
    });

    it('are refused if their bytes were taken down, by any digest', async () => {
      await harness().takeDown(sha256('blob'));
      await expect(add('blob')).rejects.toMatchObject({ code: 'gone' });
      const alias = { ...sampleBlob('blob'), digest: SHA512 };
      await expect(store().addBlob(REPOSITORY, alias, change())).rejects.toMatchObject({ code: 'gone' });
      expect(await store().repositories('', 9)).toEqual([]);
      await add('other');
    });

    it('are counted once if 50 pushes of one arrive concurrently', async () => {
      await Promise.all(Array.from({ length: 50 }, () => add('blob')));
      expect(await store().countBytes(REPOSITORY)).toBe(10);
    });
  });

  describe('blobs in rows', () => {
    const row = {
      digest: sha256('blob'),
      file: sha256('blob'),
      size: 4,
      place: 'rows',
      bytes: BYTES,
    } as const;
    const { bytes: _, ...described } = row;
    const addRow = (repository = REPOSITORY) => store().addBlob(repository, row, change());
    const bytes = async () => {
      const found = await store().rowBytes(sha256('blob'));
      return found && Buffer.from(found);
    };

    it('have their bytes as long as a repository has them', async () => {
      expect(await bytes()).toBeUndefined();
      await addRow();
      await store().mountBlob(undefined, OTHER, row.digest, change());
      await store().mountBlob(OTHER, 'team/third', row.digest, change());
      expect(await find(row.digest)).toEqual({ ...described, seenAt: NOON });
      expect(await find(row.digest, 'team/third')).toEqual({ ...described, seenAt: NOON });
      for (const repository of [OTHER, REPOSITORY, 'team/third']) {
        expect(await bytes()).toEqual(BYTES);
        expect(await store().deleteBlob(repository, row.digest, change())).toBe('deleted');
      }
      expect(await bytes()).toBeUndefined();
      expect(await store().countBytes(REPOSITORY)).toBe(0);
    });

    it('have their bytes by sha512, and if they are empty', async () => {
      await store().addBlob(REPOSITORY, { ...row, digest: SHA512 }, change());
      const empty = Buffer.alloc(0);
      const none = { ...row, digest: sha256(''), file: sha256(''), size: 0, bytes: empty };
      await store().addBlob(REPOSITORY, none, change());
      expect(await bytes()).toEqual(BYTES);
      expect(await store().rowBytes(sha256(''))).toEqual(empty);
    });

    it('stay when they are seen again', async () => {
      await addRow();
      await addRow();
      await store().touchBlob(REPOSITORY, row.digest, LATE);
      expect(await find(row.digest)).toEqual({ ...described, seenAt: LATE });
      expect(await bytes()).toEqual(BYTES);
      expect(await store().countBytes(REPOSITORY)).toBe(4);
    });

    it('have no file, and a file that becomes a row is not needed', async () => {
      await store().addBlob(REPOSITORY, { ...described, place: 'artifacts' }, change());
      expect(await store().findUnreferencedFiles([row.file])).toEqual([]);
      await addRow();
      expect(await bytes()).toEqual(BYTES);
      expect(await store().findUnreferencedFiles([row.file])).toEqual([row.file]);
    });

    it('have no bytes if they are elsewhere now', async () => {
      for (const place of ['artifacts', 'releases'] as const) {
        await addRow();
        await store().addBlob(REPOSITORY, { ...described, place }, change());
        expect(await find(row.digest)).toMatchObject({ place });
        expect(await bytes()).toBeUndefined();
      }
    });

    it('are refused if their bytes were taken down', async () => {
      await harness().takeDown(row.file);
      await expect(addRow()).rejects.toMatchObject({ code: 'gone' });
      expect(await bytes()).toBeUndefined();
    });

    it('are not read if they do not match', async () => {
      await store().addBlob(REPOSITORY, { ...row, bytes: Buffer.from('fool') }, change());
      await expect(bytes()).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringContaining('corrupt'),
      });
    });
  });

  describe('a mount', () => {
    const mount = (from: string | undefined, digest: OciDigest = sha256('blob'), to = REPOSITORY) =>
      store().mountBlob(from, to, digest, change(LATE));

    it('uses a blob of the given repository only', async () => {
      await add('blob', OTHER);
      expect(await mount('team/third')).toBe(false);
      expect(await mount(OTHER, sha256('unknown'))).toBe(false);
      expect(await find(sha256('blob'))).toBeUndefined();
      expect(await mount(OTHER)).toBe(true);
      expect(await find(sha256('blob'))).toEqual({ ...sampleBlob('blob'), seenAt: LATE });
      expect((await find(sha256('blob'), OTHER))?.seenAt).toBe(NOON);
    });

    it('uses any repository if none is given', async () => {
      expect(await mount(undefined)).toBe(false);
      await add('blob', OTHER);
      expect(await mount(undefined)).toBe(true);
      expect(await find(sha256('blob'))).toEqual({ ...sampleBlob('blob'), seenAt: LATE });
    });

    it('that fails creates no repository', async () => {
      expect(await mount(undefined)).toBe(false);
      expect(await mount(OTHER)).toBe(false);
      expect(await store().repositories('', 9)).toEqual([]);
    });

    it('finds the same bytes by another digest only if a client pushed them by it', async () => {
      const alias = { ...sampleBlob('blob'), digest: SHA512 };
      await store().addBlob(OTHER, alias, change());
      expect(await mount(OTHER, SHA512)).toBe(true);
      expect(await find(SHA512)).toEqual({ ...alias, seenAt: LATE });
      expect(await mount(undefined, SHA512, 'team/third')).toBe(true);
      expect(await find(SHA512, 'team/third')).toEqual({ ...alias, seenAt: LATE });
      // The file is known by its sha256 digest, whatever digest it was pushed by.
      expect(await mount(undefined, sha256('blob'), 'team/fourth')).toBe(true);
      expect(await find(sha256('blob'), 'team/fourth')).toEqual({ ...sampleBlob('blob'), seenAt: LATE });
      expect(await mount(OTHER, sha256('blob'), 'team/fifth')).toBe(false);
    });

    it('uses the file of a release if its repository is given, and no rendition of a snapshot', async () => {
      await store().addBlob('functions/a/b', { ...sampleBlob('blob'), place: 'releases' }, change());
      await store().addBlob('catalogs/x', { ...sampleBlob('form'), place: 'forms' }, change());
      expect(await mount(undefined)).toBe(false);
      expect(await mount('functions/a/b')).toBe(true);
      expect(await find(sha256('blob'))).toMatchObject({ place: 'releases' });
      expect(await mount('catalogs/x', sha256('form'))).toBe(false);
    });

    it('onto itself updates the last use of the blob', async () => {
      await add('blob');
      expect(await mount(REPOSITORY)).toBe(true);
      expect((await find(sha256('blob')))?.seenAt).toBe(LATE);
      expect(await store().countBytes(REPOSITORY)).toBe(10);
    });
  });

  it('lists files without a repository', async () => {
    await add('here');
    await add('both');
    await add('both', OTHER);
    await store().addBlob(REPOSITORY, { ...sampleBlob('blob'), digest: SHA512 }, change());
    await store().addBlob('functions/a/b', { ...sampleBlob('release'), place: 'releases' }, change());
    await store().deleteBlob(REPOSITORY, sha256('both'), change());
    const files = ['here', 'both', 'blob', 'release', 'nowhere'].map((text) => sha256(text));
    expect(await store().findUnreferencedFiles(files)).toEqual([sha256('release'), sha256('nowhere')]);
    expect(await store().findUnreferencedFiles([])).toEqual([]);
    await store().deleteBlob(OTHER, sha256('both'), change());
    expect(await store().findUnreferencedFiles([sha256('both')])).toEqual([sha256('both')]);
  });
}
