import type { Digest } from '@krmhub/schema';
import { sha256 } from '@krmhub/schema';
import { bytesResponse, CACHE_REVALIDATE, uncompressed } from './bytes-response.js';
import type { RegistryContext } from './context.js';

/** Pieces of a JSON text. Large stored values are among them as they are, and never parsed. */
export type StoredJson = readonly Uint8Array[];

const encode = (text: string): Uint8Array => Buffer.from(text);

export function toJson(value: object): StoredJson {
  return [encode(JSON.stringify(value))];
}

/** Returns the JSON of a non-empty object with one more member. */
export function withMember(object: StoredJson, name: string, value: StoredJson): StoredJson {
  const last = object.at(-1)!;
  return [
    ...object.slice(0, -1),
    last.subarray(0, last.byteLength - 1),
    encode(`,${JSON.stringify(name)}:`),
    ...value,
    encode('}'),
  ];
}

/** Returns the JSON of an array. */
export function jsonArray(values: readonly StoredJson[]): StoredJson {
  return [
    encode('['),
    ...values.flatMap((value, at) => (at === 0 ? value : [encode(','), ...value])),
    encode(']'),
  ];
}

/**
 * Responds with a small object and large stored values, which are not parsed. `head` names the values by their
 * digests, so it determines the ETag, and a client that has the response gets a 304 without reading them.
 */
export function storedJsonResponse(
  c: RegistryContext,
  head: object,
  read: () => Promise<StoredJson>,
): Promise<Response> {
  const digest: Digest = sha256(encode(JSON.stringify(head)));
  return bytesResponse(c, {
    digest: `derived:${digest.slice('sha256:'.length)}`,
    mediaType: 'application/json',
    cacheControl: CACHE_REVALIDATE,
    find: async () => uncompressed(Buffer.concat(await read())),
  });
}
