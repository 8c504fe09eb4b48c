import { beforeAll, describe, expect, it } from 'vitest';
import {
  expectDeleted,
  expectReferrerList,
  expectReferrers,
  expectTags,
  getTags,
  pushBlobs,
  pushDataSet,
  pushManifest,
} from './data-set-steps.js';
import {
  type DataManifest,
  type Descriptor,
  dataSetOf,
  dataSets,
  INDEX,
  newImage,
  referrersIn,
} from './data-sets.js';
import {
  ALGORITHMS,
  conformanceRegistry,
  digestOf,
  errorCode,
  json,
  manifests,
  newRepository,
  referrers,
  someBytes,
  tagsList,
} from './oci-requests.js';

const requests = conformanceRegistry();

async function tagsIn(target: string): Promise<string[]> {
  const answer = await requests.get(target);
  expect(answer.status).toBe(200);
  return json(answer).tags as string[];
}

describe('a repository that does not exist', () => {
  it('has no list of tags', async () => {
    const answer = await requests.get(tagsList(newRepository()));
    expect(answer.status).toBe(404);
    expect(errorCode(answer)).toBe('NAME_UNKNOWN');
  });

  it.each(ALGORITHMS)('has an empty list of referrers of a %s digest', async (algorithm) => {
    const digest = digestOf(someBytes(8), algorithm);
    expectReferrerList(await requests.get(referrers(newRepository(), digest)), []);
  });
});

describe.each(dataSets)('$name', (set) => {
  const repository = newRepository();

  beforeAll(() => pushDataSet(requests, repository, set));

  it('lists its tags, all in one response', () => expectTags(requests, repository, getTags(set)));

  it('lists the referrers of its parts, and those of each type', async () => {
    await expectReferrers(requests, repository, set);
    const spoken = referrersIn(set);
    for (const { digest } of set.manifests) {
      if (spoken.has(digest)) continue;
      expectReferrerList(await requests.get(referrers(repository, digest)), []);
    }
  });
});

describe('the list of tags', () => {
  const repository = newRepository();
  // Upper case before lower case, and digits before both: by bytes, not by locale.
  const inOrder = ['0', '10', '9', 'B', 'a', 'a-b', 'a.b', 'aB', 'aa', 'b'].sort();

  beforeAll(async () => {
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, repository, { blobs });
    await pushManifest(requests, repository, { ...manifest, tags: [...inOrder].reverse() });
  });

  it('is ordered by bytes', async () => {
    expect(await tagsIn(tagsList(repository))).toEqual(inOrder);
  });

  it('with `last` has only the tags after it', async () => {
    for (const [place, tag] of inOrder.entries()) {
      const listed = await tagsIn(`${tagsList(repository)}?last=${tag}`);
      expect(listed).toEqual(inOrder.slice(place + 1));
    }
  });

  it('with half the number as `n` has so many tags, and a link to the rest', async () => {
    const half = inOrder.length / 2;
    const answer = await requests.get(`${tagsList(repository)}?n=${half}`);
    expect(json(answer).tags).toEqual(inOrder.slice(0, half));
    const next = /^<([^>]+)>; *rel="next"$/.exec(String(answer.headers.link))![1]!;
    expect(await tagsIn(next)).toEqual(inOrder.slice(half));
  });

  it('with `n` and `last` has n tags after that one', async () => {
    expect(await tagsIn(`${tagsList(repository)}?n=2&last=${inOrder[3]}`)).toEqual(inOrder.slice(4, 6));
  });

  it('with n=0 is empty', async () => {
    expect(await tagsIn(`${tagsList(repository)}?n=0`)).toEqual([]);
  });

  it('with n=0 is empty also if the repository has one tag', async () => {
    const single = newRepository();
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, single, { blobs });
    await pushManifest(requests, single, { ...manifest, tags: ['only'] });
    expect(await tagsIn(`${tagsList(single)}?n=0`)).toEqual([]);
    expect(await tagsIn(`${tagsList(single)}?n=1`)).toEqual(['only']);
  });

  it('exists and is empty after the last tag was deleted', async () => {
    const emptied = newRepository();
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, emptied, { blobs });
    await pushManifest(requests, emptied, { ...manifest, tags: ['only'] });
    await expectDeleted(requests, manifests(emptied, 'only'));
    expect(await tagsIn(tagsList(emptied))).toEqual([]);
    await expectDeleted(requests, manifests(emptied, manifest.digest));
    expect(await tagsIn(tagsList(emptied))).toEqual([]);
  });
});

describe('the list of referrers', () => {
  const repository = newRepository();
  const TYPES = ['application/vnd.nhl.peanut.butter.bagel', 'application/vnd.nba.strawberry.jam.croissant'];
  let subject: Descriptor;
  let referring: DataManifest[];

  /** Two by their configuration's type, two by their own, and an index: all before their subject. */
  beforeAll(async () => {
    const about = newImage();
    subject = about.descriptor;
    const images = TYPES.flatMap((type) => {
      const annotations = { 'org.opencontainers.conformance.test': type };
      const own = newImage({ subject, artifactType: type, annotations });
      const configured = newImage({ subject, annotations });
      const document = JSON.parse(configured.manifest.bytes.toString());
      document.config.mediaType = type;
      const bytes = Buffer.from(JSON.stringify(document));
      const manifest = { ...configured.manifest, bytes, digest: digestOf(bytes), artifactType: type };
      return [own, { ...configured, manifest }];
    });
    const annotations = { 'org.opencontainers.conformance.test': 'index' };
    const artifactType = TYPES[1]!;
    const document = {
      schemaVersion: 2,
      mediaType: INDEX,
      artifactType,
      manifests: [],
      subject,
      annotations,
    };
    const bytes = Buffer.from(JSON.stringify(document));
    const digest = digestOf(bytes);
    const index = {
      bytes,
      digest,
      mediaType: INDEX,
      tags: [],
      subject: subject.digest,
      artifactType,
      annotations,
    };
    referring = [...images.map(({ manifest }) => manifest), index];
    for (const { blobs } of [...images, about]) await pushBlobs(requests, repository, { blobs });
    for (const manifest of referring) await pushManifest(requests, repository, manifest);
    await pushManifest(requests, repository, about.manifest);
  });

  it('has exactly the five referrers with the annotations of each', async () => {
    const answer = await requests.get(referrers(repository, subject.digest));
    expect(answer.headers['oci-filters-applied']).toBeUndefined();
    expectReferrerList(answer, referring);
  });

  it('filtered by type has the artifacts with that artifact type or configuration type', async () => {
    const target = `${referrers(repository, subject.digest)}?artifactType=${encodeURIComponent(TYPES[0]!)}`;
    const answer = await requests.get(target);
    expect(answer.headers['oci-filters-applied']).toBe('artifactType');
    expectReferrerList(answer, referring.slice(0, 2));
  });

  it('filtered by an unused type is empty, and names the filter', async () => {
    const answer = await requests.get(`${referrers(repository, subject.digest)}?artifactType=none`);
    expect(answer.headers['oci-filters-applied']).toBe('artifactType');
    expectReferrerList(answer, []);
  });

  it('of a digest without referrers is empty', async () => {
    expectReferrerList(await requests.get(referrers(repository, digestOf(someBytes(8)))), []);
  });

  it('of an invalid digest is refused', async () => {
    const answer = await requests.get(referrers(repository, 'sha256:baddigeststring'));
    expect(answer.status).toBe(400);
    expect(errorCode(answer)).toBe('DIGEST_INVALID');
  });

  it('of a missing manifest has its referrer', async () => {
    const set = dataSetOf('an artifact that speaks of what is not there');
    const [[missing, manifests]] = [...referrersIn(set)] as [[string, DataManifest[]]];
    const alone = newRepository();
    await pushDataSet(requests, alone, set);
    expect((await requests.head(`/v2/${alone}/manifests/${missing}`)).status).toBe(404);
    expectReferrerList(await requests.get(referrers(alone, missing)), manifests);
  });

  it('loses deleted referrers at once', async () => {
    const set = dataSetOf('artifacts that speak of an image');
    const [[about, all]] = [...referrersIn(set)] as [[string, DataManifest[]]];
    const other = newRepository();
    await pushDataSet(requests, other, set);
    await expectDeleted(requests, manifests(other, all[0]!.digest));
    expectReferrerList(await requests.get(referrers(other, about)), all.slice(1));
  });
});
