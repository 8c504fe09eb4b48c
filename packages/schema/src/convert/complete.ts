import { shorten } from '@krmhub/yaml/read/scalars';
import type { Path } from '../diagnostics/diagnostic.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { parseImageReference } from '../images/image-reference.js';
import { field, isObject, listField, objectField, textField } from '../json/access.js';
import type { ConvertCode } from './codes.js';

/** Default values for missing fields. They never replace existing values. */
export interface EntryDefaults {
  publisher?: string;
  /** An SPDX license expression. */
  license?: string;
  schema?: { openAPIV3Schema: JsonObject };
  idempotent?: boolean;
  usage?: string;
  examples?: string[];
  /** The image of versions without a runtime. */
  image?: string;
  /** Host, with an optional path, for images without a registry. Without it, such images do not change. */
  registry?: string;
}

/** A completed or omitted field. */
export interface FilledField {
  code: ConvertCode;
  /** The path in the original definition. */
  path: Path;
  message: string;
}

export interface CompletedDefinition {
  spec: JsonObject;
  filled: FilledField[];
  /** Returns the original path of a path in the completed definition. */
  authored(path: Path): Path;
}

/** A schema that accepts any functionConfig, for unknown fields. */
const OPEN_SCHEMA: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
/** The license for an unknown license. No policy allows it by accident. */
export const UNKNOWN_LICENSE = 'LicenseRef-unknown';
/** Placeholders in the examples of KEP-2906. */
const PLACEHOLDER = /^(?:<[^<>]*>|\.{3}|true\|false)$/;
const SHORTENED_DIGEST = /^(?:sha256:)?[0-9a-f]*(?:\.{3}|…)$/i;
const DOCKER_REGISTRY = 'docker.io';
/** Maximum number of reports for one definition, as a limit for hostile documents. */
const MAX_FILLED = 1_000;

/** The registry for images without one: KEP-2906 runs images with Docker. */
export const KEP_DEFAULTS: EntryDefaults = { registry: DOCKER_REGISTRY };

/**
 * Completes missing required fields of a definition in normal form with the defaults, or with conservative values.
 * Placeholders count as missing. It never invents the group, kind, API version, or runtime: lint reports them. Never
 * throws: any field may be missing or have another type.
 */
export function completeDefinition(given: JsonObject, defaults: EntryDefaults = {}): CompletedDefinition {
  const filled: FilledField[] = [];
  const fill: Fill = (code, path, message) => {
    if (filled.length < MAX_FILLED) filled.push({ code, path, message });
  };
  const spec = { ...given };
  completeNames(spec, defaults, fill);
  omitPlaceholders(spec, ['home', 'maintainers'], [], fill);
  if (!Array.isArray(given.versions)) return { spec, filled, authored: (path) => path };
  const kept = runnableVersions(given.versions, defaults, fill);
  spec.versions = kept.map((index) => {
    const version = (given.versions as JsonValue[])[index]!;
    return isObject(version) ? completeVersion(version, ['versions', index], spec, defaults, fill) : version;
  });
  return { spec, filled, authored: (path) => authoredPath(path, kept) };
}

type Fill = (code: ConvertCode, path: Path, message: string) => void;

function authoredPath(path: Path, kept: readonly number[]): Path {
  const [first, index, ...rest] = path;
  if (first !== 'versions' || typeof index !== 'number') return path;
  return [first, kept[index] ?? index, ...rest];
}

function completeNames(spec: JsonObject, defaults: EntryDefaults, fill: Fill): void {
  const kind = textField(objectField(spec, 'names'), 'kind');
  if (isLacking(spec.description) && kind !== undefined) {
    spec.description = kind;
    fill('convert/description', ['description'], `the description is missing; ${shorten(kind)} is used`);
  }
  if (!isLacking(spec.publisher)) return;
  const group = textField(spec, 'group');
  if (defaults.publisher !== undefined) {
    spec.publisher = defaults.publisher;
    fill('convert/publisher', ['publisher'], defaultMessage('publisher', defaults.publisher));
  } else if (group !== undefined) {
    spec.publisher = group;
    fill('convert/publisher', ['publisher'], `the publisher ${shorten(group)} is derived from the group`);
  }
}

/**
 * Returns the indexes of the API versions with a runtime. If none has one, it returns all, so that lint reports the
 * missing runtime.
 */
function runnableVersions(versions: readonly JsonValue[], { image }: EntryDefaults, fill: Fill): number[] {
  const all = versions.map((_, index) => index);
  if (image !== undefined) return all;
  const canRun = (version: JsonValue | undefined) => !isObject(version) || !isLacking(version.runtime);
  const kept = all.filter((index) => canRun(versions[index]));
  if (kept.length === 0) return all;
  for (const index of all) {
    if (canRun(versions[index])) continue;
    const name = textField(versions[index], 'name') ?? String(index);
    const message = `the API version ${shorten(name)} has no runtime and is omitted`;
    fill('convert/version', ['versions', index], message);
  }
  return kept;
}

function completeVersion(
  given: JsonObject,
  at: Path,
  { home }: JsonObject,
  defaults: EntryDefaults,
  fill: Fill,
): JsonObject {
  const version = { ...given };
  if (lacksImage(version.runtime) && defaults.image !== undefined) {
    const container = objectField(version.runtime, 'container');
    version.runtime = { container: { ...container, image: defaults.image } };
    fill('convert/runtime', [...at, 'runtime'], defaultMessage('the image', defaults.image));
  }
  if (isObject(version.runtime)) {
    version.runtime = completeRuntime(version.runtime, [...at, 'runtime'], defaults, fill);
  }
  if (isLacking(version.schema) || isLacking(field(version.schema, 'openAPIV3Schema'))) {
    version.schema = { ...(defaults.schema ?? { openAPIV3Schema: OPEN_SCHEMA }) };
    const message =
      defaults.schema === undefined
        ? 'the schema of the functionConfig is unknown; a schema that accepts any object is used'
        : 'the schema of the functionConfig is missing; the default is used';
    fill('convert/schema', [...at, 'schema'], message);
  }
  if (isLacking(version.idempotent)) {
    version.idempotent = defaults.idempotent ?? false;
    const message =
      defaults.idempotent === undefined
        ? 'the source does not state whether the function is idempotent; false is used'
        : defaultMessage('idempotent', String(defaults.idempotent));
    fill('convert/idempotent', [...at, 'idempotent'], message);
  }
  completeLinks(version, at, home, defaults, fill);
  if (isLacking(version.license)) {
    version.license = defaults.license ?? UNKNOWN_LICENSE;
    const message =
      defaults.license === undefined
        ? `the license is missing; ${UNKNOWN_LICENSE} is used`
        : defaultMessage('license', defaults.license);
    fill('convert/license', [...at, 'license'], message);
  }
  return version;
}

function completeLinks(
  version: JsonObject,
  at: Path,
  home: JsonValue | undefined,
  defaults: EntryDefaults,
  fill: Fill,
): void {
  if (isLacking(version.usage)) {
    const found = usageDocument(version, home, defaults);
    if (found !== undefined) {
      const message = `the usage document is missing; ${found.name} ${shorten(found.link)} is used`;
      version.usage = found.link;
      fill('convert/usage', [...at, 'usage'], message);
    }
  }
  const given = Array.isArray(version.examples) ? version.examples : [];
  const examples = given.filter((example) => !isLacking(example));
  if (examples.length > 0) version.examples = examples;
  else if (isLacking(version.examples) || Array.isArray(version.examples)) {
    const path = [...at, 'examples'];
    if (defaults.examples !== undefined) {
      version.examples = [...defaults.examples];
      fill('convert/examples', path, 'examples are missing; the default is used');
    } else if (typeof version.usage === 'string') {
      version.examples = [version.usage];
      fill('convert/examples', path, 'examples are missing; the usage document is used as an example');
    }
  }
}

/** Returns an existing link as documentation: the home page, or the image, script, or download. */
function usageDocument(
  { runtime }: JsonObject,
  home: JsonValue | undefined,
  { usage }: EntryDefaults,
): { name: string; link: string } | undefined {
  if (usage !== undefined) return { name: 'the default', link: usage };
  if (typeof home === 'string' && home !== '') return { name: 'the home page', link: home };
  const image = textField(objectField(runtime, 'container'), 'image');
  if (image !== undefined && parseImageReference(image).ok)
    return { name: 'the image', link: `oci://${image}` };
  const script = isObject(runtime) ? runtime.starlark : undefined;
  if (typeof script === 'string') return { name: 'the script', link: script };
  const uri = textField(listField(objectField(runtime, 'exec'), 'platforms')[0], 'uri');
  return uri === undefined ? undefined : { name: 'the download', link: uri };
}

/** Reports whether a runtime is missing, or is a container without an image. */
function lacksImage(runtime: JsonValue | undefined): boolean {
  if (!isObject(runtime)) return isLacking(runtime);
  const { container, ...others } = runtime;
  if (Object.keys(others).length > 0) return false;
  return isLacking(container) || (isObject(container) && isLacking(container.image));
}

function completeRuntime(given: JsonObject, at: Path, { registry }: EntryDefaults, fill: Fill): JsonObject {
  if (!isObject(given.container)) return given;
  const container = { ...given.container };
  const path = [...at, 'container'];
  omitPlaceholders(container, ['sha256', 'requireNetwork', 'requireStorageMount'], path, fill);
  const { image } = container;
  if (typeof image === 'string' && registry !== undefined) {
    const qualified = withRegistry(image, registry);
    if (qualified !== undefined) {
      const message = `the image ${shorten(image)} has no registry; ${shorten(qualified)} is used`;
      container.image = qualified;
      fill('convert/registry', [...path, 'image'], message);
    }
  }
  return { ...given, container };
}

/** Returns the image with the default registry; undefined if it has a registry or is not valid. */
function withRegistry(image: string, registry: string): string | undefined {
  const reference = parseImageReference(image);
  if (!reference.ok || reference.host !== undefined) return undefined;
  const isOfficial = registry === DOCKER_REGISTRY && !reference.repository.includes('/');
  return `${registry}/${isOfficial ? 'library/' : ''}${image}`;
}

function omitPlaceholders(holder: JsonObject, names: readonly string[], at: Path, fill: Fill): void {
  for (const name of names) {
    const value = holder[name];
    if (typeof value !== 'string') continue;
    const isPlaceholder = PLACEHOLDER.test(value.trim());
    if (!isPlaceholder && !(name === 'sha256' && SHORTENED_DIGEST.test(value.trim()))) continue;
    delete holder[name];
    fill('convert/placeholder', [...at, name], `${name} is the placeholder ${shorten(value)} and is omitted`);
  }
}

/** Reports whether a field is missing, empty, or a placeholder. */
function isLacking(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'string' && (value.trim() === '' || PLACEHOLDER.test(value.trim()));
}

function defaultMessage(what: string, value: string): string {
  return `${what} is missing; the default ${shorten(value)} is used`;
}
