import {
  ARTIFACT_MEDIA_TYPES,
  computeDigest,
  EMPTY_CONFIG,
  MEDIA_TYPES,
  type OciDigest,
  TITLE,
} from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { definitionText, type TestDefinition, type TestRegistry } from './test-registry.js';

/** A client of `/v2/` without a socket; for tests. */
export interface TestClient {
  /** `target` is below `/v2/`. */
  request(method: string, target: string, more?: ClientRequest): Promise<Response>;
  /** Pushes a blob in one request. */
  blob(repository: string, content: string | Uint8Array, algorithm?: 'sha256' | 'sha512'): Promise<OciDigest>;
  /** Puts a manifest: an object, which is sent as JSON, or a text. */
  put(
    repository: string,
    reference: string,
    manifest: object | string,
    more?: ClientRequest,
  ): Promise<Response>;
  /** Pushes an image with these layers and their blobs. Returns its digest. */
  image(repository: string, reference: string, layers: readonly string[], more?: object): Promise<OciDigest>;
}

export interface ClientRequest {
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  type?: string;
  headers?: Record<string, string>;
  /** Authorization header instead of the client's; empty for none. */
  authorization?: string;
}

export const LAYER = 'application/octet-stream';

export function testClient(
  registry: () => TestRegistry,
  authorization: () => string | Promise<string> = () => registry().bearer(),
): TestClient {
  const client: TestClient = {
    async request(method, target, { body, type, headers = {}, authorization: other } = {}) {
      const given = other ?? (await authorization());
      return registry().request(`/v2/${target}`, {
        method,
        headers: {
          ...defined({ Authorization: given === '' ? undefined : given, 'Content-Type': type }),
          ...headers,
        },
        ...defined({
          body: body === undefined ? undefined : (body as NonNullable<RequestInit['body']>),
          duplex: body === undefined ? undefined : 'half',
        }),
      });
    },
    async blob(repository, content, algorithm = 'sha256') {
      const bytes = toBytes(content);
      const digest = computeDigest(bytes, algorithm === 'sha256' ? 'sha256' : `sha512:${'0'.repeat(128)}`);
      const answer = await client.request('POST', `${repository}/blobs/uploads/?digest=${digest}`, {
        body: bytes,
      });
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
      return digest;
    },
    put: (repository, reference, manifest, more = {}) =>
      client.request('PUT', `${repository}/manifests/${reference}`, {
        body: toBytes(typeof manifest === 'string' ? manifest : JSON.stringify(manifest)),
        type: manifestType(manifest),
        ...more,
      }),
    async image(repository, reference, layers, more = {}) {
      const manifest = imageManifest(layers, more);
      for (const layer of layers) await client.blob(repository, layer);
      const answer = await client.put(repository, reference, manifest);
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
      return manifestDigest(manifest);
    },
  };
  return client;
}

export function toBytes(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content;
}

export function manifestDigest(manifest: object | string): OciDigest {
  return computeDigest(toBytes(typeof manifest === 'string' ? manifest : JSON.stringify(manifest)));
}

export const EMPTY_DESCRIPTOR = {
  mediaType: MEDIA_TYPES.empty,
  digest: computeDigest(EMPTY_CONFIG),
  size: 2,
};

export function descriptor(content: string, mediaType: string = LAYER) {
  const bytes = toBytes(content);
  return { mediaType, digest: computeDigest(bytes), size: bytes.byteLength };
}

export function imageManifest(layers: readonly string[], more: object = {}) {
  return {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.image,
    config: EMPTY_DESCRIPTOR,
    layers: layers.map((layer) => descriptor(layer)),
    ...more,
  };
}

export function indexManifest(manifests: readonly object[], more: object = {}) {
  return {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.index,
    manifests: manifests.map((manifest) => descriptor(JSON.stringify(manifest), manifestType(manifest))),
    ...more,
  };
}

/** Returns the artifact manifest of a definition, as `krmhub push` makes it. */
export function definitionArtifact(
  definition: TestDefinition | string,
  {
    readme,
    title = 'definition.yaml',
    ...more
  }: { readme?: string; title?: string; [field: string]: unknown } = {},
) {
  const text = typeof definition === 'string' ? definition : definitionText(definition);
  const { artifact, layer } = ARTIFACT_MEDIA_TYPES.definition;
  return {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.image,
    artifactType: artifact,
    config: EMPTY_DESCRIPTOR,
    layers: [
      { ...descriptor(text, layer), annotations: { [TITLE]: title } },
      ...(readme === undefined ? [] : [descriptor(readme, 'text/markdown')]),
    ],
    ...more,
  };
}

export interface ErrorResponse {
  status: number;
  code: string;
  message: string;
  detail?: unknown;
}

/** Returns the error of a response. Throws if the response has another shape. */
export async function readError(answer: Response): Promise<ErrorResponse> {
  const text = await answer.text();
  if (answer.headers.get('content-type') !== 'application/json') throw new Error(`${answer.status} ${text}`);
  const { errors, ...more } = JSON.parse(text) as { errors: Omit<ErrorResponse, 'status'>[] };
  if (errors.length !== 1 || Object.keys(more).length > 0) throw new Error(`${answer.status} ${text}`);
  return { status: answer.status, ...errors[0]! };
}

function manifestType(manifest: object | string): string {
  return typeof manifest === 'object' && 'mediaType' in manifest
    ? String(manifest.mediaType)
    : MEDIA_TYPES.image;
}
