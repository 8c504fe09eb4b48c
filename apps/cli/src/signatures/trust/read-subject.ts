import type { Subject } from '@krmhub/consume/trust/judge-release';
import {
  ARTIFACT_MEDIA_TYPES,
  type Descriptor,
  getArtifactType,
  type ImageManifest,
  mainLayer,
  type OciClient,
  type Reference,
  type StoredManifest,
  TITLE,
  VERSION,
} from '@krmhub/oci';
import { parseFunctionRepository } from '@krmhub/oci/function-repository';
import {
  canonicalRelease,
  DOCUMENT_LIMITS,
  type FunctionName,
  foldCase,
  type JsonValue,
  readDialect,
  readMachineYaml,
  sha256,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

/** An artifact after its manifest is read and before files are written. */
export interface OpenArtifact {
  reference: Reference;
  /** The manifest of the reference, and the manifest with layers, which differs for an index. */
  named: StoredManifest;
  stored: StoredManifest;
  image?: ImageManifest;
  /** Layers to write as files. */
  files: readonly Descriptor[];
}

/** Opens the manifest that a reference names. An index has no files. */
export function openManifest(
  reference: Reference,
  named: StoredManifest,
  isFile: (layer: Descriptor) => boolean = () => true,
): OpenArtifact {
  const { manifest } = named;
  const artifact = { reference, named, stored: named };
  if (manifest.kind !== 'image') return { ...artifact, files: [] };
  return { ...artifact, image: manifest.image, files: manifest.image.layers.filter(isFile) };
}

/** Reports whether a layer may be a definition that was pushed as a file. Layers of container images have no title. */
export function isDocumentLayer({ mediaType, annotations }: Descriptor): boolean {
  return annotations?.[TITLE] !== undefined || mediaType === ARTIFACT_MEDIA_TYPES.definition.layer;
}

/** Names and media types of files that tools read as YAML. */
const DOCUMENT_TITLE = /\.(?:ya?ml|json)$/i;
const DOCUMENT_TYPE = /[/.+-](?:yaml|json)(?:$|[;+.])/i;
/** What a definition can be taken for: any spelling of its kind, with any apiVersion. */
const DEFINITION_KIND = /^\s*krm-?functions?(?:definition)?\s*$/i;

/**
 * Reads what an artifact claims to be. It checks every file, because a definition can be pushed with another artifact
 * type.
 */
export async function readSubject(
  client: OciClient,
  { reference, named, stored, image, files }: OpenArtifact,
): Promise<{ subject: Subject; layer?: Descriptor }> {
  const main =
    image !== undefined && getArtifactType(stored.manifest) === 'definition'
      ? mainLayer(image, 'definition')
      : undefined;
  const definitions: { name: FunctionName; layer: Descriptor; bytes: Uint8Array }[] = [];
  let unreadable: string | undefined;
  for (const layer of files) {
    const isDocument = layer === main || isDocumentFile(layer);
    const maxBytes = isDocument ? DOCUMENT_LIMITS.maxCatalogBytes : DOCUMENT_LIMITS.maxDefinitionBytes;
    if (layer.size > (layer === main ? DOCUMENT_LIMITS.maxDefinitionBytes : maxBytes)) {
      // No tool reads the others as a definition.
      if (isDocument) unreadable ??= tooLargeReason(layer, layer === main);
      continue;
    }
    const bytes = await readLayer(client, reference, layer);
    const found = findDefinitions(bytes);
    definitions.push(...found.names.map((name) => ({ name, layer, bytes })));
    if (layer === main && (found.nameless || found.names.length === 0)) {
      unreadable = 'its definition has no readable group and kind';
    } else if (found.nameless && isDocument) {
      // What cannot be read here may be a definition for another tool.
      unreadable ??= `its file ${fileName(layer)} cannot be read, and may be a definition`;
    }
  }
  const [only] = definitions;
  const repository = parseFunctionRepository(reference.repository);
  const release = findRelease(reference, [stored, named]);
  const manifests = [...new Map([stored, named].map((one) => [one.digest, one])).values()];
  const subject: Subject = {
    definitions: definitions.map(({ name }) => name),
    ...defined({
      unreadable,
      definition: only === undefined || definitions.length > 1 ? undefined : sha256(only.bytes),
      repository,
      release,
    }),
    manifests: manifests.map((one) => ({
      digest: one.digest,
      version: canonicalVersion(versionAnnotation(one)),
    })),
  };
  return {
    subject,
    ...defined({ layer: only === undefined || definitions.length > 1 ? undefined : only.layer }),
  };
}

/**
 * Returns the names of the definitions in a file; `nameless` if one has no readable group and kind, or if the file
 * cannot be parsed. The text is parsed, not searched: a kind can be written with escapes.
 */
export function findDefinitions(bytes: Uint8Array): { names: FunctionName[]; nameless: boolean } {
  // With a line before it, JSON is read as YAML is: with an error for duplicate keys, of which tools see different
  // ones.
  const text = Buffer.concat([NEWLINE, toUtf8(bytes)]);
  const { documents, diagnostics } = readMachineYaml(text, { file: 'definition' });
  const names: FunctionName[] = [];
  let nameless = diagnostics.some(({ code, severity }) => severity === 'error' && code !== 'yaml/empty');
  for (const [index, value] of documents.flatMap(unwrapList).entries()) {
    if (!isDefinition(value)) continue;
    if (hasAmbiguousField(value) || !('kind' in (value as object))) nameless = true;
    const { kind, drafts } = readDialect({ value, index, locate: () => undefined }, 'definition');
    if (kind !== 'KRMFunctionDefinition' || drafts.length === 0) nameless = true;
    for (const { spec } of drafts) {
      const { group, names: own } = spec;
      const named = typeof own === 'object' && own !== null && !Array.isArray(own) ? own.kind : undefined;
      if (typeof group === 'string' && typeof named === 'string') names.push({ group, kind: named });
      else nameless = true;
    }
  }
  return { names, nameless };
}

const NEWLINE = Buffer.from('\n');

/**
 * Returns text in UTF-8 without a byte order mark. Other tools also read UTF-16, which begins with its mark, or with an
 * ASCII character (YAML 1.2.2, section 5.2).
 */
function toUtf8(bytes: Uint8Array): Uint8Array {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return bytes.subarray(3);
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  if (bytes.byteLength < 2 || !(isLittle || isBig)) return bytes;
  return Buffer.from(new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be').decode(bytes));
}

/** Returns a document and its items if it is a list, a List, or a ResourceList, which tools read as documents. */
function unwrapList(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value.flatMap(unwrapList);
  const items = fieldsNamed(value, 'items').flatMap((list) => (Array.isArray(list) ? list : []));
  return [value, ...items.flatMap(unwrapList)];
}

function isDefinition(value: JsonValue): boolean {
  return fieldsNamed(value, 'kind').some((kind) => typeof kind === 'string' && DEFINITION_KIND.test(kind));
}

/** Returns the fields of a mapping with a name in any case: the JSON library of Go does not distinguish it. */
function fieldsNamed(value: JsonValue, name: string): JsonValue[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => (foldCase(key) === name ? [field] : []));
}

/** Reports whether fields of a definition differ only by case. The fields of functionConfigs, in its schemas, may. */
function hasAmbiguousField(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(hasAmbiguousField);
  if (typeof value !== 'object' || value === null) return false;
  const entries = Object.entries(value);
  if (new Set(entries.map(([key]) => foldCase(key))).size < entries.length) return true;
  return entries.some(([key, field]) => foldCase(key) !== 'schema' && hasAmbiguousField(field));
}

function isDocumentFile({ annotations, mediaType }: Descriptor): boolean {
  return DOCUMENT_TITLE.test(annotations?.[TITLE] ?? '') || DOCUMENT_TYPE.test(mediaType);
}

function fileName({ annotations, digest }: Descriptor): string {
  return annotations?.[TITLE] ?? digest;
}

function tooLargeReason(layer: Descriptor, isMain: boolean): string {
  const limit = isMain ? DOCUMENT_LIMITS.maxDefinitionBytes : DOCUMENT_LIMITS.maxCatalogBytes;
  const what = isMain ? 'definition' : `file ${fileName(layer)}`;
  return `its ${what} has ${layer.size} bytes; the limit is ${limit}`;
}

function findRelease({ tag }: Reference, manifests: readonly StoredManifest[]): Subject['release'] {
  const asked = tag === undefined ? undefined : canonicalRelease(tag);
  if (asked !== undefined) return { name: asked, by: 'user' };
  for (const manifest of manifests) {
    const name = canonicalRelease(versionAnnotation(manifest) ?? '');
    if (name !== undefined) return { name, by: 'artifact' };
  }
  return undefined;
}

function versionAnnotation({ manifest }: StoredManifest): string | undefined {
  return (manifest.kind === 'image' ? manifest.image : manifest.index).annotations?.[VERSION];
}

function canonicalVersion(version: string | undefined): string | undefined {
  return version === undefined ? undefined : (canonicalRelease(version) ?? version);
}

/** Reads a layer, whose size the caller has checked. */
export async function readLayer(
  client: OciClient,
  reference: Reference,
  layer: Descriptor,
): Promise<Uint8Array> {
  return client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(reference, layer)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
}
