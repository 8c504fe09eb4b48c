import {
  ARCHITECTURES,
  type Digest,
  isDigest,
  type JsonObject,
  type JsonValue,
  OPERATING_SYSTEMS,
  type Path,
  parseImageReference,
  RUNTIME_KINDS,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { FieldReader } from '../policy/document-fields.js';
import type { PinnedPlatform, PinnedRuntime } from '../resolve/runtimes.js';
import type { LOCK_CODES } from './codes.js';
import { LOCK_LIMITS } from './lock.js';

export type LockFields = FieldReader<'lock', typeof LOCK_CODES>;

/** OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT, as the OCI image index names them. */
const PLATFORM = /^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9.]+)?$/;
/** A file name or a path below the folder of an archive; what leaves it is refused when it is unpacked too. */
const BIN = /^(?![/-])(?!.*(?:^|\/)\.\.(?:\/|$))[^\p{C}\\]+$/u;
const ADDRESS = /^[^\p{C}\p{Z}]+$/u;

/** Reads the one runtime of a locked function; undefined where an error is reported. */
export function readRuntime(item: JsonObject, at: Path, fields: LockFields): PinnedRuntime | undefined {
  const named = RUNTIME_KINDS.filter((kind) => item[kind] !== undefined);
  const [kind] = named;
  if (kind === undefined || named.length > 1) {
    const found = kind === undefined ? 'no runtime' : `the runtimes ${named.join(' and ')}`;
    fields.report('lock/runtime', at, `the function has ${found}, expected one`);
    return undefined;
  }
  const path = [...at, kind];
  if (kind === 'container') return readContainer(item.container!, path, fields);
  return kind === 'exec' ? readExec(item.exec!, path, fields) : readStarlark(item.starlark!, path, fields);
}

function readContainer(value: JsonValue, at: Path, fields: LockFields): PinnedRuntime | undefined {
  const item = fields.mapping(value, at, {
    required: ['image'],
    optional: ['network', 'storage', 'platforms'],
  });
  if (item?.image === undefined) return undefined;
  const image = fields.text(item.image, [...at, 'image']);
  const allows = (name: 'network' | 'storage') =>
    item[name] === undefined ? false : fields.boolean(item[name], [...at, name]) === true;
  const network = allows('network');
  const storage = allows('storage');
  const platforms =
    item.platforms === undefined
      ? undefined
      : readImagePlatforms(item.platforms, [...at, 'platforms'], fields);
  if (image === undefined) return undefined;
  const reference = parseImageReference(image);
  if (!reference.ok || reference.digest === undefined) {
    const why = reference.ok ? 'has no digest' : reference.reason;
    fields.report('lock/runtime', [...at, 'image'], `the image ${why}`);
    return undefined;
  }
  return { type: 'container', image, network, storage, ...defined({ platforms }) };
}

/** Reads the digests of an image by platform; reports what is wrong with them. */
export function readImagePlatforms(value: JsonValue, at: Path, fields: LockFields): Record<string, Digest> {
  const item = fields.anyMapping(value, at) ?? {};
  const entries = Object.entries(item);
  if (entries.length > LOCK_LIMITS.maxPlatforms) {
    const message = `there are ${entries.length} platforms; the limit is ${LOCK_LIMITS.maxPlatforms}`;
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

function readExec(value: JsonValue, at: Path, fields: LockFields): PinnedRuntime | undefined {
  const item = fields.mapping(value, at, { required: ['platforms'] });
  if (item?.platforms === undefined) return undefined;
  const path = [...at, 'platforms'];
  const list = fields.list(item.platforms, path, LOCK_LIMITS.maxPlatforms);
  if (list === undefined) return undefined;
  if (list.length === 0) fields.report('lock/runtime', path, 'the list of platforms is empty');
  const platforms = list.flatMap((one, index) => readExecPlatform(one, [...path, index], fields) ?? []);
  const seen = new Set<string>();
  for (const [index, { os, arch }] of platforms.entries()) {
    const name = `${os}/${arch}`;
    if (seen.has(name)) fields.report('lock/duplicate', [...path, index], `${name} appears twice`);
    seen.add(name);
  }
  return { type: 'exec', platforms };
}

function readExecPlatform(value: JsonValue, at: Path, fields: LockFields): PinnedPlatform | undefined {
  const required = ['os', 'arch', 'bin', 'uri', 'sha256'];
  const item = fields.mapping(value, at, { required });
  if (item === undefined || required.some((name) => item[name] === undefined)) return undefined;
  const os = OPERATING_SYSTEMS.find((one) => one === item.os);
  const arch = ARCHITECTURES.find((one) => one === item.arch);
  if (os === undefined) fields.report('lock/runtime', [...at, 'os'], 'not a known operating system');
  if (arch === undefined) fields.report('lock/runtime', [...at, 'arch'], 'not a known architecture');
  const bin = readMatch(item.bin!, [...at, 'bin'], BIN, 'a path inside the archive', fields);
  const uri = readMatch(item.uri!, [...at, 'uri'], ADDRESS, 'a URL', fields);
  const sha256 = readDigest(item.sha256!, [...at, 'sha256'], fields);
  if (os === undefined || arch === undefined || bin === undefined) return undefined;
  return uri === undefined || sha256 === undefined ? undefined : { os, arch, bin, uri, sha256 };
}

function readStarlark(value: JsonValue, at: Path, fields: LockFields): PinnedRuntime | undefined {
  const item = fields.mapping(value, at, { required: ['reference', 'sha256'] });
  if (item?.reference === undefined || item.sha256 === undefined) return undefined;
  const what = 'a URL';
  const reference = readMatch(item.reference, [...at, 'reference'], ADDRESS, what, fields);
  const sha256 = readDigest(item.sha256, [...at, 'sha256'], fields);
  if (reference === undefined || sha256 === undefined) return undefined;
  return { type: 'starlark', reference, sha256 };
}

function readMatch(
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

function readDigest(value: JsonValue, at: Path, fields: LockFields): Digest | undefined {
  const text = fields.text(value, at);
  if (text === undefined || isDigest(text)) return text;
  fields.report('lock/digest', at, `"${text}" is not a digest`);
  return undefined;
}
