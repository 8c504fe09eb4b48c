import { computeDigest, EMPTY_CONFIG, MEDIA_TYPES } from '@krmhub/oci';
import { filledBytes } from '../faults/artifacts.js';
import type { History } from './history.js';
import { randomInt } from './random.js';
import type { Asked, Requests, Target } from './requests.js';

const REPOSITORY = '/v2/faults/tool';
const PIECES = 3;
const PIECE_BYTES = 20_000;

/** Pushes and pulls OCI artifacts: each has a blob in pieces, one in one request, a manifest, and a tag. */
export class ArtifactClient {
  readonly #requests: Requests;
  readonly #history: History;
  /** Paths of everything that was sent. */
  readonly #sent: string[] = [];
  #round = 0;

  constructor(requests: Requests, history: History) {
    this.#requests = requests;
    this.#history = history;
  }

  /** Each request goes to another process. A push that fails is not continued. */
  async push(): Promise<void> {
    const round = this.#round++;
    const inPieces = filledBytes(PIECES * PIECE_BYTES, round);
    const whole = filledBytes(PIECE_BYTES, round + 1_000_000);
    if (!(await this.#pushPieces(inPieces)) || !(await this.#pushWhole(whole))) return;
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MEDIA_TYPES.image,
        config: { mediaType: MEDIA_TYPES.empty, digest: computeDigest(EMPTY_CONFIG), size: 2 },
        layers: [inPieces, whole].map((bytes) => ({
          mediaType: 'application/octet-stream',
          digest: computeDigest(bytes),
          size: bytes.byteLength,
        })),
      }),
    );
    for (const name of [computeDigest(manifest), `round-${round}`]) {
      const path = `${REPOSITORY}/manifests/${name}`;
      const request = { method: 'PUT', body: manifest, headers: { 'content-type': MEDIA_TYPES.image } };
      if (!(await this.#store(path, manifest, path, request))) return;
    }
  }

  pullAny(): Promise<void> {
    const path = this.#sent[randomInt(this.#requests.random, this.#sent.length)];
    return path === undefined ? Promise.resolve() : this.#pull(this.#requests.any(), path);
  }

  async readAll(target: Target): Promise<void> {
    for (const path of this.#sent) await this.#pull(target, path);
  }

  async #pushPieces(bytes: Buffer): Promise<boolean> {
    // A request before may still own the upload, if its process lost the database at its end.
    const allowed = [202, 409];
    let at = await this.#requests.ask(this.#requests.any(), `${REPOSITORY}/blobs/uploads/`, {
      method: 'POST',
      allowed,
    });
    for (let start = 0; start < bytes.byteLength && at.status === 202; start += PIECE_BYTES) {
      const body = bytes.subarray(start, start + PIECE_BYTES);
      const headers = { 'content-range': `${start}-${start + body.byteLength - 1}` };
      const request = { method: 'PATCH', body, headers, allowed };
      at = await this.#requests.ask(this.#requests.any(), at.headers.get('location')!, request);
    }
    if (at.status !== 202) return false;
    const digest = computeDigest(bytes);
    const path = `${at.headers.get('location')}?digest=${digest}`;
    return this.#store(`${REPOSITORY}/blobs/${digest}`, bytes, path, { method: 'PUT' });
  }

  #pushWhole(body: Buffer): Promise<boolean> {
    const digest = computeDigest(body);
    const path = `${REPOSITORY}/blobs/uploads/?digest=${digest}`;
    return this.#store(`${REPOSITORY}/blobs/${digest}`, body, path, { method: 'POST', body });
  }

  /** The request after which a name has these bytes. */
  async #store(
    artifact: string,
    bytes: Buffer,
    path: string,
    request: Omit<Asked, 'allowed'>,
  ): Promise<boolean> {
    const target = this.#requests.any();
    this.#sent.push(artifact);
    const done = await this.#history.record(target.name, async () => {
      const { status } = await this.#requests.ask(target, path, { ...request, allowed: [201, 409] });
      return {
        do: 'push',
        artifact,
        digest: computeDigest(bytes),
        outcome: status === 201 ? 'done' : 'unknown',
      };
    });
    return done?.outcome === 'done';
  }

  async #pull(target: Target, artifact: string): Promise<void> {
    await this.#history.record(target.name, async () => {
      const headers = { accept: MEDIA_TYPES.image };
      const { status, bytes } = await this.#requests.ask(target, artifact, { headers, allowed: [200, 404] });
      if (status === 404) return { do: 'pull', artifact };
      return status === 200 ? { do: 'pull', artifact, digest: computeDigest(bytes) } : undefined;
    });
  }
}
