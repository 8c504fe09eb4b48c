import {
  type Descriptor,
  getArtifactType,
  type ImageManifest,
  mainLayer,
  type OciClient,
  type Reference,
  type StoredManifest,
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

/** An artifact whose manifest is known, and nothing of which is written yet. */
export interface OpenArtifact {
  reference: Reference;
  /** What the reference names, and the manifest with layers where that is another one. */
  named: StoredManifest;
  stored: StoredManifest;
  image?: ImageManifest;
  /** Layers that become files. */
  files: readonly Descriptor[];
}

/** What every spelling of a definition's kind begins with. */
const KIND = 'KRMFunction';

/**
 * What an artifact says that it is. Its type is not believed alone: a definition that is pushed as something else is one
 * for whoever uses the file.
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
      if (layer === main) unreadable = `the definition in it has ${layer.size} bytes, too many to be read`;
      continue;
    }
    const bytes = await layerBytes(client, reference, layer);
    const found = definitionsIn(bytes);
    definitions.push(...found.names.map((name) => ({ name, layer, bytes })));
    // Other files speak of definitions too, as a README does.
    if (layer === main && (found.nameless || found.names.length === 0)) {
      unreadable = 'it cannot be read whose definition it is';
    }
  }
  const [only] = definitions;
  const repository = functionOfRepository(reference);
  const release = releaseOf(reference, [stored, named]);
  const manifests = [...new Map([stored, named].map((one) => [one.digest, one])).values()];
  const subject: Subject = {
    definitions: definitions.map(({ name }) => name),
    ...(unreadable === undefined ? {} : { unreadable }),
    ...(only === undefined || definitions.length > 1 ? {} : { definition: sha256(only.bytes) }),
    ...(repository === undefined ? {} : { repository }),
    ...(release === undefined ? {} : { release }),
    manifests: manifests.map((one) => ({ digest: one.digest, version: canonical(versionIn(one)) })),
  };
  return { subject, ...(only === undefined || definitions.length > 1 ? {} : { layer: only.layer }) };
}

/** The names of the definitions in a file; `nameless` where there may be one that does not say whose it is. */
export function definitionsIn(bytes: Uint8Array): { names: FunctionName[]; nameless: boolean } {
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

/** The function whose releases a krmhub registry keeps there: `functions/GROUP/KIND`. */
export function functionOfRepository({
  repository,
}: Pick<Reference, 'repository'>): FunctionName | undefined {
  const [, group, kind] = /^functions\/([^/]+)\/([^/]+)$/.exec(repository) ?? [];
  return group === undefined || kind === undefined ? undefined : { group, kind };
}

function releaseOf({ tag }: Reference, manifests: readonly StoredManifest[]): Subject['release'] {
  const asked = tag === undefined ? undefined : canonicalRelease(tag);
  if (asked !== undefined) return { name: asked, by: 'user' };
  for (const manifest of manifests) {
    const name = canonicalRelease(versionIn(manifest) ?? '');
    if (name !== undefined) return { name, by: 'artifact' };
  }
  return undefined;
}

function versionIn({ manifest }: StoredManifest): string | undefined {
  return (manifest.kind === 'image' ? manifest.image : manifest.index).annotations?.[VERSION];
}

function canonical(version: string | undefined): string | undefined {
  return version === undefined ? undefined : (canonicalRelease(version) ?? version);
}

async function layerBytes(client: OciClient, place: Reference, layer: Descriptor): Promise<Uint8Array> {
  return client.withRetries(async () => {
    const pieces: Uint8Array[] = [];
    for await (const piece of await client.blob(place, layer)) pieces.push(piece);
    return Buffer.concat(pieces);
  });
}
