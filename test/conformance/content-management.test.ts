import { describe, expect, it } from 'vitest';
import {
  deleteDataSet,
  expectDeleted,
  expectTags,
  pushBlobs,
  pushDataSet,
  pushManifest,
} from './data-set-steps.js';
import { dataSetOf, dataSets, newImage } from './data-sets.js';
import {
  ALGORITHMS,
  blob,
  conformanceRegistry,
  digestOf,
  errorCode,
  manifests,
  newRepository,
  someBytes,
} from './oci-requests.js';

const requests = conformanceRegistry();

/** An image with two tags in a new repository. */
async function pushImage() {
  const repository = newRepository();
  const { blobs, manifest } = newImage();
  await pushBlobs(requests, repository, { blobs });
  await pushManifest(requests, repository, { ...manifest, tags: ['one', 'two'] });
  return { repository, digest: manifest.digest, blobs: [...blobs.keys()], manifest };
}

describe.each(dataSets)('$name', (set) => {
  it('is deleted: tags, then manifests in reverse, then blobs, each with immediate effect', async () => {
    const repository = newRepository();
    await pushDataSet(requests, repository, set);
    await deleteDataSet(requests, repository, set);
    await expectTags(requests, repository, []);
  });
});

describe('all kinds of artifacts in turn in one repository', () => {
  const repository = newRepository();

  it.each([1, 2])('are pushed under the same tags and deleted again, round %i', async () => {
    for (const set of dataSets) {
      await pushDataSet(requests, repository, set);
      await deleteDataSet(requests, repository, set);
    }
  });
});

describe('a tag', () => {
  it('is deleted, and its manifest and other tags stay', async () => {
    const { repository, digest } = await pushImage();
    await expectDeleted(requests, manifests(repository, 'one'));
    await expectTags(requests, repository, ['two']);
    expect((await requests.head(manifests(repository, 'two'))).status).toBe(200);
    expect((await requests.head(manifests(repository, digest))).status).toBe(200);
  });

  it('leaves a manifest that can be deleted by its digest', async () => {
    const { repository, digest } = await pushImage();
    await expectDeleted(requests, manifests(repository, 'one'));
    await expectDeleted(requests, manifests(repository, 'two'));
    await expectDeleted(requests, manifests(repository, digest));
  });

  it('that does not exist is 404', async () => {
    const { repository } = await pushImage();
    const answer = await requests.delete(manifests(repository, 'three'));
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('MANIFEST_UNKNOWN');
  });
});

describe('a manifest', () => {
  it('is deleted with its tags', async () => {
    const { repository, digest } = await pushImage();
    await expectDeleted(requests, manifests(repository, digest));
    expect((await requests.head(manifests(repository, 'one'))).status).toBe(404);
    await expectTags(requests, repository, []);
  });

  it('is pushed again after it was deleted, with the same content', async () => {
    const { repository, digest, manifest } = await pushImage();
    await expectDeleted(requests, manifests(repository, digest));
    await pushManifest(requests, repository, { ...manifest, tags: ['one'] });
  });

  it('is deleted in one repository only', async () => {
    const [one, two] = [newRepository(), newRepository()];
    const { blobs, manifest } = newImage();
    for (const repository of [one, two]) {
      await pushBlobs(requests, repository, { blobs });
      await pushManifest(requests, repository, manifest);
    }
    await expectDeleted(requests, manifests(one, manifest.digest));
    expect((await requests.get(manifests(two, manifest.digest))).status).toBe(200);
  });

  it.each(ALGORITHMS)('by %s that does not exist is 404', async (algorithm) => {
    const { repository } = await pushImage();
    const answer = await requests.delete(manifests(repository, digestOf(someBytes(8), algorithm)));
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('MANIFEST_UNKNOWN');
  });

  it('is deleted before its referrers, and an index before its manifests', async () => {
    const repository = newRepository();
    const set = dataSetOf('an index that speaks of another, as do the images in it');
    await pushDataSet(requests, repository, set);
    const subject = set.manifests.find(({ subject }) => subject !== undefined)!.subject!;
    await expectDeleted(requests, manifests(repository, subject));
    for (const { digest } of [...set.manifests].reverse()) {
      if (digest !== subject) await expectDeleted(requests, manifests(repository, digest));
    }
  });
});

describe('a blob', () => {
  it('that a manifest names is not deleted: 405 UNSUPPORTED', async () => {
    const { repository, blobs } = await pushImage();
    for (const digest of blobs) {
      const answer = await requests.delete(blob(repository, digest));
      expect(answer.status).toBe(405);
      expect(errorCode(answer)).toBe('UNSUPPORTED');
      expect((await requests.head(blob(repository, digest))).status).toBe(200);
    }
  });

  it('whose deletion was refused can be deleted after its manifest', async () => {
    const { repository, digest, blobs } = await pushImage();
    for (const one of blobs) expect((await requests.delete(blob(repository, one))).status).toBe(405);
    await expectDeleted(requests, manifests(repository, digest));
    for (const one of blobs) await expectDeleted(requests, blob(repository, one));
  });

  it('stays for a while after its manifest was deleted', async () => {
    const { repository, digest, blobs } = await pushImage();
    await expectDeleted(requests, manifests(repository, digest));
    for (const one of blobs) expect((await requests.head(blob(repository, one))).status).toBe(200);
  });

  it.each(ALGORITHMS)('by %s is deleted at once although another repository has it', async (algorithm) => {
    const [one, two] = [newRepository(), newRepository()];
    const bytes = someBytes(64);
    const digest = digestOf(bytes, algorithm);
    for (const repository of [one, two]) await requests.pushBlob(repository, bytes, digest);
    await expectDeleted(requests, blob(one, digest));
    expect((await requests.get(blob(two, digest))).body.equals(bytes)).toBe(true);
    await expectDeleted(requests, blob(two, digest));
  });

  it.each(ALGORITHMS)('by %s that does not exist is 404', async (algorithm) => {
    const answer = await requests.delete(blob(newRepository(), digestOf(someBytes(8), algorithm)));
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('BLOB_UNKNOWN');
  });
});
