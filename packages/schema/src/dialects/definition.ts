import { shorten } from '@krmhub/yaml/read/scalars';
import type { Path } from '../diagnostics/diagnostic.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { normalizeLicense } from '../licenses/spdx-identifiers.js';
import type { DialectCode } from './codes.js';
import { type Corrections, Origins } from './corrections.js';
import type { Draft } from './draft.js';
import { RuntimeReader } from './runtime.js';

/** Fields of an API version that are next to `versions` in the examples of the KEP. */
const VERSION_FIELDS = ['schema', 'idempotent', 'runtime', 'usage', 'examples', 'license', 'configMap'];
/** Maximum number of versions to which a value is copied, because each copy is checked. */
const MAX_VERSIONS_TO_FILL = 16;
/** Names in a CustomResourceDefinition that functions do not use. */
const IGNORED_NAMES = ['plural', 'singular', 'shortNames', 'listKind', 'categories', 'scope'];

/** Fields of a CustomResourceDefinition about storage and display in a server. */
const IGNORED_FIELDS = ['scope', 'conversion', 'preserveUnknownFields'];
const IGNORED_VERSION_FIELDS = [
  'served',
  'storage',
  'subresources',
  'additionalPrinterColumns',
  'selectableFields',
  'deprecated',
  'deprecationWarning',
];

/** Reads one definition at `base`: the spec of a document, or an entry of a catalog. */
export function readDefinition(spec: JsonObject, base: Path, file: string, corrections: Corrections): Draft {
  const origins = new Origins(base);
  const reader = new DefinitionReader(corrections, origins);
  const normal = reader.read(spec);
  return {
    file,
    spec: normal,
    locate: (path, target) => origins.locate(corrections.document, path, target),
  };
}

class DefinitionReader {
  private readonly runtimes: RuntimeReader;
  private readonly corrections: Corrections;
  private readonly origins: Origins;

  constructor(corrections: Corrections, origins: Origins) {
    this.corrections = corrections;
    this.origins = origins;
    this.runtimes = new RuntimeReader(corrections, origins);
  }

  read(authored: JsonObject): JsonObject {
    const spec = { ...authored };
    this.readNames(spec);
    this.rename(spec, 'emails', 'maintainers', 'dialect/maintainers');
    this.rename(spec, 'keywords', 'tags', 'dialect/tags');
    this.rename(spec, 'types', 'tags', 'dialect/tags');
    this.rename(spec, 'sourceURL', 'home', 'dialect/home');
    for (const name of ['hidden', ...IGNORED_FIELDS]) {
      if (name in spec) this.drop(spec, name, [name], 'dialect/ignored-field');
    }
    if (spec.versions !== undefined) spec.versions = this.readVersions(spec.versions);
    if (Array.isArray(spec.versions)) {
      for (const name of VERSION_FIELDS) this.moveIntoVersions(spec, spec.versions, name, name);
      this.moveIntoVersions(spec, spec.versions, 'documentation', 'usage');
      spec.versions = spec.versions.map((version, index) => this.readVersion(version, index));
    }
    return spec;
  }

  private readNames(spec: JsonObject): void {
    if (isObject(spec.names)) {
      const names = { ...spec.names };
      for (const name of IGNORED_NAMES) {
        if (name in names) this.drop(names, name, ['names', name], 'dialect/ignored-field');
      }
      spec.names = names;
    }
    if (spec.kind === undefined) return;
    const names = spec.names ?? {};
    if (!isObject(names) || names.kind !== undefined) return;
    this.report('dialect/kind', 'kind is read as names.kind', ['kind']);
    this.origins.move(['names', 'kind'], this.origins.authored(['kind']));
    spec.names = { ...names, kind: spec.kind };
    delete spec.kind;
  }

  private readVersions(versions: JsonValue): JsonValue {
    if (isObject(versions)) return this.readVersionsMap(versions);
    if (!Array.isArray(versions)) return versions;
    return versions.map((version, index) => {
      if (typeof version !== 'string') return version;
      const at = ['versions', index];
      this.report(
        'dialect/version-text',
        `the API version ${shorten(version)} is a string instead of a mapping`,
        at,
      );
      this.origins.move([...at, 'name'], this.origins.authored(at));
      return { name: version };
    });
  }

  /** Reads a mapping: a single version, or versions by name. */
  private readVersionsMap(versions: JsonObject): JsonValue {
    const authored = this.origins.authored(['versions']);
    const single = ['name', ...VERSION_FIELDS].some((field) => versions[field] !== undefined);
    if (single) {
      this.report(
        'dialect/versions-map',
        'versions is a single version; it is read as a list with one item',
        ['versions'],
      );
      this.origins.move(['versions', 0], authored);
      return [versions];
    }
    this.report('dialect/versions-map', 'versions is a mapping by name; it is read as a list', ['versions']);
    return Object.entries(versions).map(([name, body], index) => {
      this.origins.move(['versions', index], [...authored, name]);
      if (body !== null && !isObject(body)) return body;
      if (body !== null && body.name !== undefined) return body;
      this.origins.move(['versions', index, 'name'], [...authored, name]);
      return { name, ...body };
    });
  }

  private moveIntoVersions(spec: JsonObject, versions: JsonValue[], from: string, to: string): void {
    const value = spec[from];
    if (value === undefined || versions.length > MAX_VERSIONS_TO_FILL) return;
    const authored = this.origins.authored([from]);
    const taken: number[] = [];
    for (const [index, version] of versions.entries()) {
      if (!isObject(version) || version[to] !== undefined) continue;
      versions[index] = { ...version, [to]: value };
      this.origins.move(['versions', index, to], authored);
      taken.push(index);
    }
    // If every version has its own value, lint reports the field as unknown.
    if (taken.length === 0) return;
    const code = from === 'documentation' ? 'dialect/usage' : 'dialect/version-field';
    const into = taken.map((index) => `versions[${index}].${to}`).join(', ');
    this.report(code, `${from} next to versions is read as ${into}`, [from]);
    delete spec[from];
  }

  private readVersion(authored: JsonValue, index: number): JsonValue {
    if (!isObject(authored)) return authored;
    const version = { ...authored };
    const at = ['versions', index];
    for (const name of IGNORED_VERSION_FIELDS) {
      if (name in version) this.dropVersionField(version, name, at);
    }
    if (isObject(version.runtime)) version.runtime = this.runtimes.read(version.runtime, [...at, 'runtime']);
    const license = version.license;
    const respelled = typeof license === 'string' ? normalizeLicense(license) : undefined;
    if (respelled !== undefined) {
      const path = [...at, 'license'];
      const message = `the license ${JSON.stringify(shorten(String(license)))} is read as ${respelled}`;
      this.report('dialect/license', message, path, 'value');
      version.license = respelled;
    }
    return version;
  }

  private rename(spec: JsonObject, from: string, to: string, code: DialectCode): void {
    if (spec[from] === undefined || spec[to] !== undefined) return;
    this.report(code, `${from} is read as ${to}`, [from]);
    this.origins.move([to], this.origins.authored([from]));
    spec[to] = spec[from];
    delete spec[from];
  }

  private drop(holder: JsonObject, name: string, at: Path, code: DialectCode): void {
    this.report(code, `${name} is omitted`, at);
    delete holder[name];
  }

  /** Some settings mean that the API version must not be used, so their loss is a warning. */
  private dropVersionField(version: JsonObject, name: string, at: Path): void {
    const isWithdrawn =
      (name === 'served' && version.served === false) ||
      (name === 'deprecated' && version.deprecated === true);
    if (!isWithdrawn) {
      this.drop(version, name, [...at, name], 'dialect/ignored-field');
      return;
    }
    const message = `${name}: ${String(version[name])} is omitted: an API version of a function has no lifecycle`;
    this.report('dialect/dropped-field', message, [...at, name]);
    delete version[name];
  }

  private report(code: DialectCode, message: string, at: Path, target?: 'value'): void {
    this.corrections.report(code, message, this.origins.authored(at), target);
  }
}
