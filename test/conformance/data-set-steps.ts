import { expect } from 'vitest';
import { type DataManifest, type DataSet, IMAGE, INDEX, referrersIn } from './data-sets.js';
import {
  blob,
  json,
  manifests,
  type OciRequests,
  type OciResponse,
  referrers,
  tagsList,
} from './oci-requests.js';

/** The steps of the suite for every data set, and its checks. */

const ACCEPT = { Accept: [INDEX, IMAGE] };

export async function pushBlobs(requests: OciRequests, repository: string, set: Pick<DataSet, 'blobs'>) {
  for (const [digest, bytes] of set.blobs) await requests.pushBlob(repository, bytes, digest);
}

/** By its digest first, then the same bytes under each tag. */
export async function pushManifest(
  requests: OciRequests,
  repository: string,
  manifest: DataManifest,
): Promise<void> {
  for (const reference of [manifest.digest, ...manifest.tags]) {
    const answer = await requests.putManifest(repository, reference, manifest);
    expect(answer.status, answer.body.toString()).toBe(201);
    expect(answer.headers['docker-content-digest']).toBe(manifest.digest);
    expect(answer.headers['oci-subject']).toBe(manifest.subject);
    expectManifest(await requests.get(requests.location(answer), ACCEPT), manifest);
  }
}

export async function pushDataSet(requests: OciRequests, repository: string, set: DataSet): Promise<void> {
  await pushBlobs(requests, repository, set);
  for (const manifest of set.manifests) await pushManifest(requests, repository, manifest);
}

export function expectManifest(answer: OciResponse, { bytes, digest, mediaType }: DataManifest): void {
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toBe(mediaType);
  expect(answer.headers['content-length']).toBe(String(bytes.byteLength));
  expect(answer.headers['docker-content-digest']).toBe(digest);
  expect(answer.headers['content-encoding']).toBeUndefined();
  expect(answer.body.equals(bytes)).toBe(true);
}

export function expectBlob(answer: OciResponse, bytes: Uint8Array, digest: string): void {
  expect(answer.status).toBe(200);
  expect(answer.headers['content-length']).toBe(String(bytes.byteLength));
  expect(answer.headers['docker-content-digest']).toBe(digest);
  expect(answer.headers['content-encoding']).toBeUndefined();
  expect(answer.headers['transfer-encoding']).toBeUndefined();
  expect(answer.body.equals(bytes)).toBe(true);
}

export async function headAll(requests: OciRequests, repository: string, set: DataSet): Promise<void> {
  for (const [digest, bytes] of set.blobs) {
    const answer = await requests.head(blob(repository, digest));
    expect(answer.status).toBe(200);
    expect(answer.headers['content-length']).toBe(String(bytes.byteLength));
    expect(answer.headers['docker-content-digest']).toBe(digest);
    expect(answer.body.byteLength).toBe(0);
  }
  for (const manifest of set.manifests) {
    for (const reference of [manifest.digest, ...manifest.tags]) {
      const { status, headers, body } = await requests.head(manifests(repository, reference), ACCEPT);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe(manifest.mediaType);
      expect(headers['content-length']).toBe(String(manifest.bytes.byteLength));
      expect(headers['docker-content-digest']).toBe(manifest.digest);
      expect(body.byteLength).toBe(0);
    }
  }
}

export async function getAll(requests: OciRequests, repository: string, set: DataSet): Promise<void> {
  for (const [digest, bytes] of set.blobs) {
    expectBlob(await requests.get(blob(repository, digest)), bytes, digest);
  }
  for (const manifest of set.manifests) {
    for (const reference of [manifest.digest, ...manifest.tags]) {
      expectManifest(await requests.get(manifests(repository, reference), ACCEPT), manifest);
    }
  }
}

export function getTags({ manifests }: DataSet): string[] {
  return manifests.flatMap(({ tags }) => tags).sort();
}

export async function expectTags(requests: OciRequests, repository: string, tags: string[]): Promise<void> {
  const answer = await requests.get(tagsList(repository));
  expect(answer.status).toBe(200);
  expect(json(answer)).toEqual({ name: repository, tags });
}

/** Each subject with all its referrers, and with those of each type. */
export async function expectReferrers(
  requests: OciRequests,
  repository: string,
  set: DataSet,
): Promise<void> {
  for (const [subject, manifests] of referrersIn(set)) {
    const path = referrers(repository, subject);
    expectReferrerList(await requests.get(path), manifests);
    for (const type of new Set(manifests.map(({ artifactType }) => artifactType))) {
      const answer = await requests.get(`${path}?artifactType=${encodeURIComponent(type!)}`);
      expect(answer.headers['oci-filters-applied']).toBe('artifactType');
      expectReferrerList(
        answer,
        manifests.filter(({ artifactType }) => artifactType === type),
      );
    }
  }
}

export function expectReferrerList(answer: OciResponse, expected: readonly DataManifest[]): void {
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toBe(INDEX);
  expect(answer.headers.link).toBeUndefined();
  const { manifests, ...rest } = json(answer) as { manifests: { digest: string }[] };
  expect(rest).toEqual({ schemaVersion: 2, mediaType: INDEX });
  const described = expected.map(({ bytes, digest, mediaType, artifactType, annotations }) => ({
    digest,
    mediaType,
    size: bytes.byteLength,
    ...(artifactType !== undefined && { artifactType }),
    ...(annotations !== undefined && { annotations }),
  }));
  const byDigest = (one: { digest: string }, other: { digest: string }) =>
    one.digest < other.digest ? -1 : 1;
  expect(manifests.sort(byDigest)).toEqual(described.sort(byDigest));
}

/** Tags, then manifests in reverse, then blobs; each deletion has immediate effect. */
export async function deleteDataSet(requests: OciRequests, repository: string, set: DataSet): Promise<void> {
  for (const tag of getTags(set)) await expectDeleted(requests, manifests(repository, tag));
  for (const { digest } of [...set.manifests].reverse()) {
    await expectDeleted(requests, manifests(repository, digest));
  }
  for (const digest of set.blobs.keys()) await expectDeleted(requests, blob(repository, digest));
}

export async function expectDeleted(requests: OciRequests, path: string): Promise<void> {
  expect([path, (await requests.delete(path)).status]).toEqual([path, 202]);
  expect([path, (await requests.head(path)).status]).toEqual([path, 404]);
  expect([path, (await requests.get(path)).status]).toEqual([path, 404]);
}
