/** Reads and writes the fields that several runtimes have in a lock file. */

import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { type Digest, isDigest } from '@krmhub/schema/digests/is-digest';

/** Platforms of an image or executable: see `LOCK_LIMITS`. */
export const MAX_PLATFORMS = 100;

/** OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT, as the OCI image index names them. */
const PLATFORM = /^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9.]+)?$/;
const ADDRESS = /^[^\p{C}\p{Z}]+$/u;

/** The methods of a `FieldReader` for lock files that runtimes need. */
export interface LockFields {
  report(code: `lock/${'runtime' | 'digest' | 'duplicate' | 'limit'}`, at: Path, message: string): void;
  mapping(
    value: JsonValue | undefined,
    at: Path,
    fields: { required?: readonly string[]; optional?: readonly string[] },
  ): JsonObject | undefined;
  anyMapping(value: JsonValue | undefined, at: Path): JsonObject | undefined;
  text(value: JsonValue | undefined, at: Path): string | undefined;
  boolean(value: JsonValue | undefined, at: Path): boolean | undefined;
  list(value: JsonValue | undefined, at: Path, limit: number): JsonValue[] | undefined;
}

/** Reads the digests of an image by platform; reports what is wrong with them. */
export function readImagePlatforms(value: JsonValue, at: Path, fields: LockFields): Record<string, Digest> {
  const item = fields.anyMapping(value, at) ?? {};
  const entries = Object.entries(item);
  if (entries.length > MAX_PLATFORMS) {
    const message = `there are ${entries.length} platforms; the limit is ${MAX_PLATFORMS}`;
    fields.report('lock/limit', at, message);
    return {};
  }
  const platforms: Record<string, Digest> = {};
  for (const [name, written] of entries) {
    if (!PLATFORM.test(name)) fields.report('lock/runtime', [...at, name], `"${name}" is not a platform`);
    const digest = readDigest(written, [...at, name], fields);
    if (digest !== undefined) platforms[name] = digest;
  }
  return platforms;
}

export function platformsDocument(platforms: Record<string, string> = {}): JsonObject | undefined {
  const names = Object.keys(platforms).sort();
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, platforms[name]!]));
}

export function readAddress(value: JsonValue, at: Path, fields: LockFields): string | undefined {
  return readMatch(value, at, ADDRESS, 'a URL', fields);
}

export function readMatch(
  value: JsonValue,
  at: Path,
  pattern: RegExp,
  what: string,
  fields: LockFields,
): string | undefined {
  const text = fields.text(value, at);
  if (text === undefined || pattern.test(text)) return text;
  fields.report('lock/runtime', at, `not ${what}`);
  return undefined;
}

export function readDigest(value: JsonValue, at: Path, fields: LockFields): Digest | undefined {
  const text = fields.text(value, at);
  if (text === undefined || isDigest(text)) return text;
  fields.report('lock/digest', at, `"${text}" is not a digest`);
  return undefined;
}
