import { computeDigest, EMPTY_CONFIG, MEDIA_TYPES } from '@krmhub/oci';

/** The requests sent to a registry of artifacts, and which were acknowledged; by path. */
export type SentArtifacts = Map<string, { bytes: Uint8Array; acknowledged: boolean }>;

interface Target {
  url: string;
  token: string;
}

/** Sends one request; returns its status and Location, status 0 for a broken connection. */
export type Ask = (
  target: Target,
  path: string,
  request: { method: string; body?: Uint8Array; headers?: Record<string, string> },
) => Promise<{ status: number; location: string }>;

const REPOSITORY = 'faults/tool';
/** Big enough to be written in several pieces, and small enough not to fill a disk at once. */
const CHUNK_BYTES = 700_000;

/**
 * A round of pushes: a blob in two chunks, another in one request, and a manifest of both under a tag. A
 * failed request is not continued. Returns the statuses of the requests that store something.
 */
export async function pushRound(
  ask: Ask,
  target: Target,
  sent: SentArtifacts,
  round: number,
): Promise<number[]> {
  const chunked = filledBytes(2 * CHUNK_BYTES, round);
  const single = filledBytes(20_000, round + 1_000_000);
  const statuses = [await pushChunks(ask, target, sent, chunked)];
  if (statuses.at(-1) === 201) statuses.push(await pushWhole(ask, target, sent, single));
  if (statuses.at(-1) !== 201) return statuses;
  const manifest = new TextEncoder().encode(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.image,
      config: { mediaType: MEDIA_TYPES.empty, digest: computeDigest(EMPTY_CONFIG), size: 2 },
      layers: [chunked, single].map((bytes) => ({
        mediaType: 'application/octet-stream',
        digest: computeDigest(bytes),
        size: bytes.byteLength,
      })),
    }),
  );
  statuses.push(
    await recordRequest(
      ask,
      target,
      sent,
      `/v2/${REPOSITORY}/manifests/round-${round}`,
      manifest,
      (path) => ({
        path,
        request: { method: 'PUT', body: manifest, headers: { 'content-type': MEDIA_TYPES.image } },
      }),
    ),
  );
  return statuses;
}

/** Everything acknowledged is served as it was sent, and nothing with other content. */
export async function lostArtifacts(url: string, sent: SentArtifacts): Promise<string[]> {
  const losses: string[] = [];
  for (const [path, { bytes, acknowledged }] of sent) {
    const response = await fetch(`${url}${path}`, { headers: { accept: MEDIA_TYPES.image } });
    const stored = new Uint8Array(await response.arrayBuffer());
    if (response.status !== 200 && (acknowledged || response.status !== 404)) {
      losses.push(
        `${path} was ${acknowledged ? '' : 'not '}acknowledged, and responds with ${response.status}`,
      );
    }
    if (response.status === 200 && Buffer.compare(stored, bytes) !== 0) {
      losses.push(`${path} has other bytes than were sent`);
    }
  }
  return losses;
}

async function pushChunks(ask: Ask, target: Target, sent: SentArtifacts, bytes: Uint8Array): Promise<number> {
  let { status, location } = await ask(target, `/v2/${REPOSITORY}/blobs/uploads/`, { method: 'POST' });
  for (let at = 0; at < bytes.byteLength && status === 202; at += CHUNK_BYTES) {
    const body = bytes.subarray(at, at + CHUNK_BYTES);
    const headers = { 'content-range': `${at}-${at + body.byteLength - 1}` };
    ({ status, location } = await ask(target, location, { method: 'PATCH', body, headers }));
  }
  if (status !== 202) return status;
  const digest = computeDigest(bytes);
  return recordRequest(ask, target, sent, `/v2/${REPOSITORY}/blobs/${digest}`, bytes, () => ({
    path: `${location}?digest=${digest}`,
    request: { method: 'PUT' },
  }));
}

function pushWhole(ask: Ask, target: Target, sent: SentArtifacts, body: Uint8Array): Promise<number> {
  const digest = computeDigest(body);
  return recordRequest(ask, target, sent, `/v2/${REPOSITORY}/blobs/${digest}`, body, () => ({
    path: `/v2/${REPOSITORY}/blobs/uploads/?digest=${digest}`,
    request: { method: 'POST', body },
  }));
}

/** Records a request before it is sent, and then whether it was acknowledged. */
async function recordRequest(
  ask: Ask,
  target: Target,
  sent: SentArtifacts,
  path: string,
  bytes: Uint8Array,
  requestAt: (path: string) => { path: string; request: Parameters<Ask>[2] },
): Promise<number> {
  const entry = { bytes, acknowledged: sent.get(path)?.acknowledged ?? false };
  sent.set(path, entry);
  const asked = requestAt(path);
  const { status } = await ask(target, asked.path, asked.request);
  if (status === 201) entry.acknowledged = true;
  return status;
}

/** Bytes that no other round has. */
export function filledBytes(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0, state = seed + 1; at + 4 <= length; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes.writeUInt32LE(state, at);
  }
  return bytes;
}
