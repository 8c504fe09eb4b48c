import { beforeAll, describe, expect, it } from 'vitest';
import {
  expectDeleted,
  expectReferrerList,
  expectReferrers,
  expectTags,
  pushBlobs,
  pushDataSet,
  pushManifest,
  tagsOf,
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
  digestOf,
  errorCode,
  json,
  manifests,
  newRepository,
  type OciRequests,
  referrers,
  someBytes,
  tagsList,
  withConformance,
} from './oci-requests.js';

let requests: OciRequests;
withConformance((running) => {
  requests = running.requests;
});

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

  it.each(ALGORITHMS)('has an empty list of what speaks of a %s digest', async (algorithm) => {
    const digest = digestOf(someBytes(8), algorithm);
    expectReferrerList(await requests.get(referrers(newRepository(), digest)), []);
  });
});

describe.each(dataSets)('$name', (set) => {
  const repository = newRepository();

  beforeAll(() => pushDataSet(requests, repository, set));

  it('has its tags listed, all in one answer', () => expectTags(requests, repository, tagsOf(set)));

  it('has what speaks of its parts listed, and by each type alone', async () => {
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
  // Upper case before lower case, and digits before both: by bytes, as no language has it.
  const inOrder = ['0', '10', '9', 'B', 'a', 'a-b', 'a.b', 'aB', 'aa', 'b'].sort();

  beforeAll(async () => {
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, repository, { blobs });
    await pushManifest(requests, repository, { ...manifest, tags: [...inOrder].reverse() });
  });

  it('is ordered by bytes', async () => {
    expect(await tagsIn(tagsList(repository))).toEqual(inOrder);
  });

  it('after one in the middle has all that come later, and none that come before', async () => {
    for (const [place, tag] of inOrder.entries()) {
      const listed = await tagsIn(`${tagsList(repository)}?last=${tag}`);
      expect(listed).toEqual(inOrder.slice(place + 1));
    }
  });

  it('of half of all has exactly so many, and a link to the rest', async () => {
    const half = inOrder.length / 2;
    const answer = await requests.get(`${tagsList(repository)}?n=${half}`);
    expect(json(answer).tags).toEqual(inOrder.slice(0, half));
    const next = /^<([^>]+)>; *rel="next"$/.exec(String(answer.headers.link))![1]!;
    expect(await tagsIn(next)).toEqual(inOrder.slice(half));
  });

  it('of so many after one has those', async () => {
    expect(await tagsIn(`${tagsList(repository)}?n=2&last=${inOrder[3]}`)).toEqual(inOrder.slice(4, 6));
  });

  it('of none has none', async () => {
    expect(await tagsIn(`${tagsList(repository)}?n=0`)).toEqual([]);
  });

  it('of none is empty too where the repository has one tag', async () => {
    const single = newRepository();
    const { blobs, manifest } = newImage();
    await pushBlobs(requests, single, { blobs });
    await pushManifest(requests, single, { ...manifest, tags: ['only'] });
    expect(await tagsIn(`${tagsList(single)}?n=0`)).toEqual([]);
    expect(await tagsIn(`${tagsList(single)}?n=1`)).toEqual(['only']);
  });

  it('is there and empty after the last tag was deleted', async () => {
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

  it('has all five with the annotation of each and no other', async () => {
    const answer = await requests.get(referrers(repository, subject.digest));
    expect(answer.headers['oci-filters-applied']).toBeUndefined();
    expectReferrerList(answer, referring);
  });

  it('of a type has those that say it themselves or by their configuration', async () => {
    const target = `${referrers(repository, subject.digest)}?artifactType=${encodeURIComponent(TYPES[0]!)}`;
    const answer = await requests.get(target);
    expect(answer.headers['oci-filters-applied']).toBe('artifactType');
    expectReferrerList(answer, referring.slice(0, 2));
  });

  it('of a type that none has is empty, and says that it was looked at', async () => {
    const answer = await requests.get(`${referrers(repository, subject.digest)}?artifactType=none`);
    expect(answer.headers['oci-filters-applied']).toBe('artifactType');
    expectReferrerList(answer, []);
  });

  it('of a digest that nothing speaks of is empty', async () => {
    expectReferrerList(await requests.get(referrers(repository, digestOf(someBytes(8)))), []);
  });

  it('of a digest that is none is refused', async () => {
    const answer = await requests.get(referrers(repository, 'sha256:baddigeststring'));
    expect(answer.status).toBe(400);
    expect(errorCode(answer)).toBe('DIGEST_INVALID');
  });

  it('of what is not there has the one that speaks of it', async () => {
    const set = dataSetOf('an artifact that speaks of what is not there');
    const [[missing, manifests]] = [...referrersIn(set)] as [[string, DataManifest[]]];
    const alone = newRepository();
    await pushDataSet(requests, alone, set);
    expect((await requests.head(`/v2/${alone}/manifests/${missing}`)).status).toBe(404);
    expectReferrerList(await requests.get(referrers(alone, missing)), manifests);
  });

  it('loses what is deleted at once', async () => {
    const set = dataSetOf('artifacts that speak of an image');
    const [[about, all]] = [...referrersIn(set)] as [[string, DataManifest[]]];
    const other = newRepository();
    await pushDataSet(requests, other, set);
    await expectDeleted(requests, manifests(other, all[0]!.digest));
    expectReferrerList(await requests.get(referrers(other, about)), all.slice(1));
  });
});
