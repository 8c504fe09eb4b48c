import {
  type ManifestReader,
  type OciDigest,
  parseReference,
  type Reference,
  scriptLayer,
} from '@krmhub/oci';
import type { RegistryContext } from '../../http/context.js';
import { isPushed } from '../../store/artifacts/stored-blob.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import type { FunctionReading } from './read-function.js';
import { SCRIPT_REFERENCE } from './script-reference.js';
import { orUndefined, readSmallManifest } from './small-manifest.js';
import type { StoredScript } from './view-script.js';

export interface FindScriptDeps {
  store: ManifestReader;
  derived: DerivedDocuments;
}

/** A script with its address in the OCI API. */
export interface FoundScript extends StoredScript {
  repository: string;
  /** As its manifest has it. */
  digest: string;
}

/**
 * Returns the script of the displayed version; undefined if it has none, or if the registry does not have its bytes
 * now, in the repository of this name. Every request looks them up, so a deleted script disappears from the page at
 * once. The host of the reference does not matter: a registry has several, and the digest says which bytes these are.
 */
export async function findScript(
  c: RegistryContext,
  { store, derived }: FindScriptDeps,
  { stored, version }: FunctionReading,
): Promise<FoundScript | undefined> {
  const json = await derived.bytes(c, SCRIPT_REFERENCE, { stored, version });
  const text = JSON.parse(new TextDecoder().decode(json)) as string | null;
  const reference = text === null ? undefined : readOciReference(text);
  if (reference?.digest === undefined) return undefined;
  const { repository } = reference;
  const layer = await findLayer(store, repository, reference.digest);
  const blob = layer && (await store.blob(repository, layer));
  if (layer === undefined || blob === undefined || !isPushed(blob)) return undefined;
  return { file: blob.file, size: blob.size, repository, digest: layer };
}

function readOciReference(text: string): Reference | undefined {
  if (!text.startsWith('oci://')) return undefined;
  return orUndefined(() => parseReference(text));
}

/** Returns the digest of the script in an artifact; undefined for a missing manifest and for another artifact. */
async function findLayer(
  store: FindScriptDeps['store'],
  repository: string,
  digest: OciDigest,
): Promise<OciDigest | undefined> {
  const image = await readSmallManifest(store, repository, digest);
  return image && orUndefined(() => scriptLayer(image)?.digest);
}
