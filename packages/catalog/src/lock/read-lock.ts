import {
  compareDiagnostics,
  type Diagnostic,
  type Digest,
  hasErrors,
  isDigest,
  type JsonObject,
  type JsonValue,
  KIND_PATTERN,
  type Path,
  RUNTIME_KINDS,
  readYaml,
  type YamlDocument,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { FieldReader, isMapping } from '../policy/document-fields.js';
import { readImagePlatforms } from '../runtimes/lock-fields.js';
import { LOCK_CODES } from './codes.js';
import {
  LOCK_API_VERSION,
  LOCK_KIND,
  LOCK_LIMITS,
  type Lock,
  type LockedCatalog,
  type LockedFunction,
  type LockedImage,
} from './lock.js';
import { type LockFields, readRuntime } from './read-runtime.js';

/** Characters in a reference that could falsify a message or a table. */
const CONTROL = /\p{C}/u;
const SPACE_OR_CONTROL = /[\p{C}\p{Z}]/u;
const API_VERSION = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Reads a lock file and finds everything that is wrong with it. The lock is undefined if there are errors. Unknown
 * fields are errors: a lock that is only partly understood would not hold.
 */
export function readLock(bytes: Uint8Array, file: string): { lock?: Lock; diagnostics: Diagnostic[] } {
  if (bytes.byteLength > LOCK_LIMITS.maxBytes) {
    const message = `the file has ${bytes.byteLength} bytes; the limit is ${LOCK_LIMITS.maxBytes}`;
    return { diagnostics: [wholeFile('lock/limit', file, message)] };
  }
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return { diagnostics };
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0) {
    const message = `expected one document, found ${documents.length}`;
    return { diagnostics: [wholeFile('lock/document', file, message)] };
  }
  const fields: LockFields = new FieldReader(document, file, {
    prefix: 'lock',
    codes: LOCK_CODES,
    maxTextLength: LOCK_LIMITS.maxTextLength,
  });
  const lock = readDocument(document, fields);
  const all = [...diagnostics, ...fields.diagnostics].sort(compareDiagnostics);
  return lock === undefined || hasErrors(all) ? { diagnostics: all } : { lock, diagnostics: all };
}

function readDocument({ value }: YamlDocument, fields: LockFields): Lock | undefined {
  if (isMapping(value) && (value.apiVersion !== LOCK_API_VERSION || value.kind !== LOCK_KIND)) {
    const at = value.kind === LOCK_KIND ? 'apiVersion' : 'kind';
    fields.report('lock/document', [at], `not a ${LOCK_KIND} of \`${LOCK_API_VERSION}\``);
    return undefined;
  }
  const required = ['apiVersion', 'kind', 'catalogs', 'functions'];
  const root = fields.mapping(value, [], { required, optional: ['images'] });
  if (root?.catalogs === undefined || root.functions === undefined) return undefined;
  const catalogs = readList(root.catalogs, ['catalogs'], LOCK_LIMITS.maxCatalogs, fields, readCatalog);
  reportDuplicates(catalogs, ({ reference }) => reference, 'catalogs', fields);
  const functions = readList(root.functions, ['functions'], LOCK_LIMITS.maxFunctions, fields, readFunction);
  const name = ({ catalog, apiVersion, kind }: LockedFunction) => `${apiVersion} ${kind} of ${catalog}`;
  reportDuplicates(functions, name, 'functions', fields);
  const known = new Set(catalogs.map((item) => item?.reference));
  for (const [index, locked] of functions.entries()) {
    if (locked === undefined) continue;
    const named: [string, Path][] = [
      [locked.catalog, ['functions', index, 'catalog']],
      ...(locked.notIn ?? []).map((one, at): [string, Path] => [one, ['functions', index, 'notIn', at]]),
    ];
    for (const [reference, at] of named) {
      if (!known.has(reference)) fields.report('lock/reference', at, `"${reference}" is not in \`catalogs\``);
    }
  }
  const images =
    root.images === undefined
      ? []
      : readList(root.images, ['images'], LOCK_LIMITS.maxImages, fields, readImage);
  reportDuplicates(images, ({ image }) => image, 'images', fields);
  return {
    catalogs: catalogs.flatMap((one) => one ?? []),
    functions: functions.flatMap((one) => one ?? []),
    ...defined({ images: images.length === 0 ? undefined : images.flatMap((one) => one ?? []) }),
  };
}

/** Keeps the index of each item; undefined where an error is reported. */
function readList<Item>(
  value: JsonValue,
  at: Path,
  limit: number,
  fields: LockFields,
  read: (value: JsonValue, at: Path, fields: LockFields) => Item | undefined,
): (Item | undefined)[] {
  return (fields.list(value, at, limit) ?? []).map((item, index) => read(item, [...at, index], fields));
}

function reportDuplicates<Item>(
  items: readonly (Item | undefined)[],
  name: (item: Item) => string,
  list: string,
  fields: LockFields,
): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (item === undefined) continue;
    const key = name(item);
    if (seen.has(key)) fields.report('lock/duplicate', [list, index], `${key} appears twice`);
    seen.add(key);
  }
}

function readCatalog(value: JsonValue, at: Path, fields: LockFields): LockedCatalog | undefined {
  const optional = ['name', 'serial', 'digest', 'key'];
  const item = fields.mapping(value, at, { required: ['reference'], optional });
  if (item?.reference === undefined) return undefined;
  const reference = readReference(item.reference, [...at, 'reference'], fields);
  const name = optionalText(item, 'name', at, fields);
  const serial = readSerial(item.serial, [...at, 'serial'], fields);
  const digest = optionalDigest(item, 'digest', at, fields);
  const key = optionalDigest(item, 'key', at, fields);
  return reference === undefined ? undefined : present({ reference, name, serial, digest, key });
}

function readFunction(value: JsonValue, at: Path, fields: LockFields): LockedFunction | undefined {
  const required = ['catalog', 'apiVersion', 'kind', 'definition'];
  const optional = ['serial', 'release', 'signedBy', 'notIn', ...RUNTIME_KINDS];
  const item = fields.mapping(value, at, { required, optional });
  if (item === undefined) return undefined;
  const catalog =
    item.catalog === undefined ? undefined : readReference(item.catalog, [...at, 'catalog'], fields);
  const apiVersion = readName(item, 'apiVersion', API_VERSION, at, fields);
  const kind = readName(item, 'kind', KIND_PATTERN, at, fields);
  const definition = optionalDigest(item, 'definition', at, fields);
  const serial = readSerial(item.serial, [...at, 'serial'], fields);
  const release = optionalText(item, 'release', at, fields);
  const signedBy = optionalText(item, 'signedBy', at, fields);
  const notIn =
    item.notIn === undefined
      ? undefined
      : readList(item.notIn, [...at, 'notIn'], LOCK_LIMITS.maxCatalogs, fields, readReference);
  const runtime = readRuntime(item, at, fields);
  if (catalog === undefined || apiVersion === undefined || kind === undefined) return undefined;
  if (definition === undefined || runtime === undefined) return undefined;
  const before = notIn?.flatMap((one) => one ?? []);
  return present({
    catalog,
    apiVersion,
    kind,
    serial,
    release,
    definition,
    signedBy,
    notIn: before,
    runtime,
  });
}

function readImage(value: JsonValue, at: Path, fields: LockFields): LockedImage | undefined {
  const item = fields.mapping(value, at, { required: ['image', 'digest'], optional: ['tag', 'platforms'] });
  if (item === undefined) return undefined;
  const image = optionalText(item, 'image', at, fields);
  const tag = optionalText(item, 'tag', at, fields);
  const digest = optionalDigest(item, 'digest', at, fields);
  const platforms =
    item.platforms === undefined
      ? undefined
      : readImagePlatforms(item.platforms, [...at, 'platforms'], fields);
  if (image === undefined || digest === undefined) return undefined;
  // A constraint can have spaces.
  if (CONTROL.test(image)) {
    fields.report('lock/reference', [...at, 'image'], 'the image has a control character');
    return undefined;
  }
  if (tag === undefined || parseImageReference(`image:${tag}`).ok) {
    return present({ image, tag, digest, platforms });
  }
  fields.report('lock/reference', [...at, 'tag'], `"${tag}" is not a tag of an image`);
  return undefined;
}

function readReference(value: JsonValue, at: Path, fields: LockFields): string | undefined {
  const text = fields.text(value, at);
  if (text === undefined) return undefined;
  if (!SPACE_OR_CONTROL.test(text)) return text;
  fields.report('lock/reference', at, 'the reference has a space or a control character');
  return undefined;
}

function readSerial(value: JsonValue | undefined, at: Path, fields: LockFields): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  fields.report('lock/serial', at, 'the serial is not an integer from 1');
  return undefined;
}

function readName(
  item: JsonObject,
  name: 'apiVersion' | 'kind',
  pattern: RegExp,
  at: Path,
  fields: LockFields,
): string | undefined {
  const text = optionalText(item, name, at, fields);
  if (text === undefined || pattern.test(text)) return text;
  fields.report('lock/name', [...at, name], `"${text}" is not a valid ${name}`);
  return undefined;
}

function optionalText(item: JsonObject, name: string, at: Path, fields: LockFields): string | undefined {
  return item[name] === undefined ? undefined : fields.text(item[name], [...at, name]);
}

function optionalDigest(item: JsonObject, name: string, at: Path, fields: LockFields): Digest | undefined {
  const text = optionalText(item, name, at, fields);
  if (text === undefined || isDigest(text)) return text;
  fields.report('lock/digest', [...at, name], `"${text}" is not a digest`);
  return undefined;
}

function wholeFile(code: keyof typeof LOCK_CODES, file: string, message: string): Diagnostic {
  const { severity, fix } = LOCK_CODES[code];
  return { code, severity, message, file, path: '', hint: fix };
}

type Present<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** Leaves out fields without a value. */
function present<Fields extends object>(fields: Fields): Present<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<Fields>;
}
