/** Reads and writes the fields that several runtimes have in a lock file. */

import type { JsonObject } from '@krmhub/schema/definition';
import { type Digest, isDigest } from '@krmhub/schema/digests/is-digest';
import type { Field } from '../fields/field.js';

/** Platforms of an image or executable: see `LOCK_LIMITS`. */
export const MAX_PLATFORMS = 100;

/** OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT, as the OCI image index names them. */
const PLATFORM = /^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9.]+)?$/;
const ADDRESS = /^[^\p{C}\p{Z}]+$/u;

/** A field of a lock file. */
export type LockField = Field<`lock/${'runtime' | 'digest' | 'duplicate' | 'limit'}`>;

/** Reads the digests of an image by platform; reports what is wrong with them. */
export function readImagePlatforms(field: LockField): Record<string, Digest> {
  const entries = field.entries() ?? [];
  if (entries.length > MAX_PLATFORMS) {
    field.report('lock/limit', `there are ${entries.length} platforms; the limit is ${MAX_PLATFORMS}`);
    return {};
  }
  const platforms: Record<string, Digest> = {};
  for (const [name, written] of entries) {
    if (!PLATFORM.test(name)) written.report('lock/runtime', `"${name}" is not a platform`);
    const digest = readDigest(written);
    if (digest !== undefined) platforms[name] = digest;
  }
  return platforms;
}

export function platformsDocument(platforms: Record<string, string> = {}): JsonObject | undefined {
  const names = Object.keys(platforms).sort();
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, platforms[name]!]));
}

export const readAddress = (field: LockField | undefined) => readMatch(field, ADDRESS, 'a URL');

export function readMatch(field: LockField | undefined, pattern: RegExp, what: string): string | undefined {
  const text = field?.text();
  if (text === undefined || pattern.test(text)) return text;
  field?.report('lock/runtime', `not ${what}`);
  return undefined;
}

export function readDigest(field: LockField | undefined): Digest | undefined {
  const text = field?.text();
  if (text === undefined || isDigest(text)) return text;
  field?.report('lock/digest', `"${text}" is not a digest`);
  return undefined;
}
