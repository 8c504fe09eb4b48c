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
import {
  canonicalRelease,
  DOCUMENT_LIMITS,
  type FunctionName,
  hasErrors,
  readDialect,
  readYaml,
  sha256,
} from '@krmhub/schema';
import type { Subject } from './judge-release.js';

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

/** The prefix of every spelling of the kind of a definition. */
const KIND = 'KRMFunction';

/**
 * Reads what an artifact claims to be. It checks every file, because a definition can be pushed with another artifact type.
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
    if (layer.size > DOCUMENT_LIMITS.maxDefinitionBytes) {
      if (layer === main)
        unreadable = `its definition has ${layer.size} bytes; the limit is ${DOCUMENT_LIMITS.maxDefinitionBytes}`;
      continue;
    }
    const bytes = await readLayer(client, reference, layer);
    const found = findDefinitions(bytes);
    definitions.push(...found.names.map((name) => ({ name, layer, bytes })));
    // Other files, for example a README, can mention definitions.
    if (layer === main && (found.nameless || found.names.length === 0)) {
      unreadable = 'its definition has no readable group and kind';
    }
  }
  const [only] = definitions;
  const repository = parseFunctionRepository(reference);
  const release = findRelease(reference, [stored, named]);
  const manifests = [...new Map([stored, named].map((one) => [one.digest, one])).values()];
  const subject: Subject = {
    definitions: definitions.map(({ name }) => name),
    ...(unreadable === undefined ? {} : { unreadable }),
    ...(only === undefined || definitions.length > 1 ? {} : { definition: sha256(only.bytes) }),
    ...(repository === undefined ? {} : { repository }),
    ...(release === undefined ? {} : { release }),
    manifests: manifests.map((one) => ({
      digest: one.digest,
      version: canonicalVersion(versionAnnotation(one)),
    })),
  };
  return { subject, ...(only === undefined || definitions.length > 1 ? {} : { layer: only.layer }) };
}

/** Returns the names of the definitions in a file; `nameless` if one has no readable group and kind. */
export function findDefinitions(bytes: Uint8Array): { names: FunctionName[]; nameless: boolean } {
  if (!Buffer.from(bytes).includes(KIND)) return { names: [], nameless: false };
  const { documents, diagnostics } = readYaml(bytes, { file: 'definition' });
  const names: FunctionName[] = [];
  let nameless = hasErrors(diagnostics);
  for (const document of documents) {
    const { kind, drafts } = readDialect(document, 'definition');
    if (kind !== 'KRMFunctionDefinition') continue;
    for (const { spec } of drafts) {
      const { group, names: own } = spec;
      const named = typeof own === 'object' && own !== null && !Array.isArray(own) ? own.kind : undefined;
      if (typeof group === 'string' && typeof named === 'string') names.push({ group, kind: named });
      else nameless = true;
    }
  }
  return { names, nameless };
}

/** Parses the repository of a function in a krmhub registry: `functions/GROUP/KIND`. */
export function parseFunctionRepository({
  repository,
}: Pick<Reference, 'repository'>): FunctionName | undefined {
  const [, group, kind] = /^functions\/([^/]+)\/([^/]+)$/.exec(repository) ?? [];
  return group === undefined || kind === undefined ? undefined : { group, kind };
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

async function readLayer(client: OciClient, reference: Reference, layer: Descriptor): Promise<Uint8Array> {
  return client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(reference, layer)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
}
