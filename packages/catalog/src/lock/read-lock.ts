import {
  compareDiagnostics,
  type Diagnostic,
  hasErrors,
  KIND_PATTERN,
  type Path,
  type Position,
  RUNTIME_KINDS,
  readYaml,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { isObject } from '@krmhub/schema/json/access';
import { type Field, FieldReader, fileDiagnostic } from '../fields/field.js';
import { readDigest, readImagePlatforms } from '../runtimes/lock-fields.js';
import { type PinnedRuntime, runtimeRules } from '../runtimes/runtimes.js';
import { LOCK_CODES, type LockCode } from './codes.js';
import {
  type IgnoredMinAge,
  LOCK_API_VERSION,
  LOCK_KIND,
  LOCK_LIMITS,
  type Lock,
  type LockedCatalog,
  type LockedFunction,
  type LockedImage,
} from './lock.js';

type LockField = Field<LockCode>;

/** Characters in a reference that could falsify a message or a table. */
const CONTROL = /\p{C}/u;
const SPACE_OR_CONTROL = /[\p{C}\p{Z}]/u;
const API_VERSION = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

export interface ReadLock {
  lock?: Lock;
  diagnostics: Diagnostic[];
  /** Where a value of the lock is in the file, for example `['functions', 0]`. */
  positionOf?: (path: Path) => Position | undefined;
}

/**
 * Reads a lock file and finds everything that is wrong with it. The lock is undefined if there are errors. Unknown
 * fields are errors: a lock that is only partly understood would not hold.
 */
export function readLock(bytes: Uint8Array, file: string): ReadLock {
  if (bytes.byteLength > LOCK_LIMITS.maxBytes) {
    const message = `the file has ${bytes.byteLength} bytes; the limit is ${LOCK_LIMITS.maxBytes}`;
    return { diagnostics: [fileDiagnostic(LOCK_CODES, 'lock/limit', file, message)] };
  }
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return { diagnostics };
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0) {
    const message = `expected one document, found ${documents.length}`;
    return { diagnostics: [fileDiagnostic(LOCK_CODES, 'lock/document', file, message)] };
  }
  const reader = new FieldReader(document, file, 'lock', LOCK_CODES, LOCK_LIMITS.maxTextLength);
  const lock = readDocument(reader.root);
  const all = [...diagnostics, ...reader.diagnostics].sort(compareDiagnostics);
  if (lock === undefined || hasErrors(all)) return { diagnostics: all };
  return { lock, diagnostics: all, positionOf: (path) => document.locate(path)?.start };
}

function readDocument(document: LockField): Lock | undefined {
  const { value } = document;
  if (isObject(value) && (value.apiVersion !== LOCK_API_VERSION || value.kind !== LOCK_KIND)) {
    const at = value.kind === LOCK_KIND ? 'apiVersion' : 'kind';
    document.reader.report('lock/document', [at], `not a ${LOCK_KIND} of \`${LOCK_API_VERSION}\``);
    return undefined;
  }
  const required = ['apiVersion', 'kind', 'catalogs', 'functions'];
  const root = document.mapping({ required, optional: ['images'] });
  if (root?.get('catalogs') === undefined || root.get('functions') === undefined) return undefined;
  const catalogs = readList(root.get('catalogs'), LOCK_LIMITS.maxCatalogs, readCatalog);
  reportDuplicates(catalogs, ({ reference }) => reference);
  const functions = readList(root.get('functions'), LOCK_LIMITS.maxFunctions, readFunction);
  reportDuplicates(functions, ({ catalog, apiVersion, kind }) => `${apiVersion} ${kind} of ${catalog}`);
  const known = new Set(catalogs.map(({ item }) => item?.reference));
  for (const { field, item } of functions) {
    if (item === undefined) continue;
    const notIn = (item.notIn ?? []).map((one, index) => [one, 'notIn', index] as const);
    for (const [reference, ...at] of [[item.catalog, 'catalog'] as const, ...notIn]) {
      if (known.has(reference)) continue;
      const message = `"${reference}" is not in \`catalogs\``;
      field.reader.report('lock/reference', [...field.at, ...at], message);
    }
  }
  const images = readList(root.get('images'), LOCK_LIMITS.maxImages, readImage);
  reportDuplicates(images, ({ image }) => image);
  return {
    catalogs: readItems(catalogs),
    functions: readItems(functions),
    ...defined({ images: images.length === 0 ? undefined : readItems(images) }),
  };
}

/** An item of a list; undefined where an error is reported. */
interface ListItem<Item> {
  field: LockField;
  item: Item | undefined;
}

function readList<Item>(
  field: LockField | undefined,
  limit: number,
  read: (field: LockField) => Item | undefined,
): ListItem<Item>[] {
  return (field?.list(limit) ?? []).map((item) => ({ field: item, item: read(item) }));
}

function readItems<Item>(items: readonly ListItem<Item>[]): Item[] {
  return items.flatMap(({ item }) => item ?? []);
}

function reportDuplicates<Item>(items: readonly ListItem<Item>[], name: (item: Item) => string): void {
  const seen = new Set<string>();
  for (const { field, item } of items) {
    if (item === undefined) continue;
    const key = name(item);
    if (seen.has(key)) field.report('lock/duplicate', `${key} appears twice`);
    seen.add(key);
  }
}

function readCatalog(field: LockField): LockedCatalog | undefined {
  const optional = ['name', 'serial', 'digest', 'key'];
  const item = field.mapping({ required: ['reference'], optional });
  if (item?.get('reference') === undefined) return undefined;
  const reference = readReference(item.get('reference'));
  const name = item.get('name')?.text();
  const serial = readSerial(item.get('serial'));
  const digest = readDigest(item.get('digest'));
  const key = readDigest(item.get('key'));
  return reference === undefined ? undefined : { reference, ...defined({ name, serial, digest, key }) };
}

function readFunction(field: LockField): LockedFunction | undefined {
  const required = ['catalog', 'apiVersion', 'kind', 'definition'];
  const optional = ['serial', 'range', 'release', 'ignoredMinAge', 'signedBy', 'notIn', ...RUNTIME_KINDS];
  const item = field.mapping({ required, optional });
  if (item === undefined) return undefined;
  const catalog = readReference(item.get('catalog'));
  const apiVersion = readName(item, 'apiVersion', API_VERSION);
  const kind = readName(item, 'kind', KIND_PATTERN);
  const definition = readDigest(item.get('definition'));
  const serial = readSerial(item.get('serial'));
  const range = item.get('range')?.text();
  const release = item.get('release')?.text();
  const ignoredMinAge = readIgnoredMinAge(item.get('ignoredMinAge'));
  const signedBy = item.get('signedBy')?.text();
  const before = item.get('notIn');
  const notIn = before && readItems(readList(before, LOCK_LIMITS.maxCatalogs, readReference));
  const runtime = readRuntime(item);
  if (catalog === undefined || apiVersion === undefined || kind === undefined) return undefined;
  if (definition === undefined || runtime === undefined) return undefined;
  return {
    catalog,
    apiVersion,
    kind,
    ...defined({ serial, range, release, ignoredMinAge }),
    definition,
    ...defined({ signedBy, notIn }),
    runtime,
  };
}

function readIgnoredMinAge(field: LockField | undefined): IgnoredMinAge | undefined {
  const item = field?.mapping({ required: ['minAge', 'publishedAt'] });
  const minAge = item?.get('minAge')?.text();
  const publishedAt = item?.get('publishedAt')?.text();
  return minAge === undefined || publishedAt === undefined ? undefined : { minAge, publishedAt };
}

function readImage(field: LockField): LockedImage | undefined {
  const item = field.mapping({ required: ['image', 'digest'], optional: ['tag', 'platforms'] });
  if (item === undefined) return undefined;
  const image = item.get('image')?.text();
  const tag = item.get('tag')?.text();
  const digest = readDigest(item.get('digest'));
  const declared = item.get('platforms');
  const platforms = declared && readImagePlatforms(declared);
  if (image === undefined || digest === undefined) return undefined;
  // A constraint can have spaces.
  if (CONTROL.test(image)) {
    item.get('image')?.report('lock/reference', 'the image has a control character');
    return undefined;
  }
  if (tag === undefined || parseImageReference(`image:${tag}`).ok) {
    return { image, ...defined({ tag }), digest, ...defined({ platforms }) };
  }
  item.get('tag')?.report('lock/reference', `"${tag}" is not a tag of an image`);
  return undefined;
}

function readReference(field: LockField | undefined): string | undefined {
  const text = field?.text();
  if (text === undefined || !SPACE_OR_CONTROL.test(text)) return text;
  field?.report('lock/reference', 'the reference has a space or a control character');
  return undefined;
}

function readSerial(field: LockField | undefined): number | undefined {
  if (field === undefined) return undefined;
  const { value } = field;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  field.report('lock/serial', 'the serial is not an integer from 1');
  return undefined;
}

function readName(item: LockField, name: 'apiVersion' | 'kind', pattern: RegExp): string | undefined {
  const field = item.get(name);
  const text = field?.text();
  if (text === undefined || pattern.test(text)) return text;
  field?.report('lock/name', `"${text}" is not a valid ${name}`);
  return undefined;
}

/** Reads the one runtime of a locked function; undefined where an error is reported. */
function readRuntime(item: Field<LockCode>): PinnedRuntime | undefined {
  const named = RUNTIME_KINDS.filter((kind) => item.get(kind) !== undefined);
  const [kind] = named;
  if (kind === undefined || named.length > 1) {
    const found = kind === undefined ? 'no runtime' : `the runtimes ${named.join(' and ')}`;
    item.report('lock/runtime', `the function has ${found}, expected one`);
    return undefined;
  }
  return runtimeRules(kind).readLock(item.get(kind)!);
}
