import { ARTIFACT_MEDIA_TYPES, EMPTY_DIGEST, isScript, type Manifest, OciError } from '@krmhub/oci';
import { canonicalRelease, DOCUMENT_LIMITS } from '@krmhub/schema';
import type { PushedManifest } from './pushed-manifest.js';

const HINT =
  'Push one file with `krmhub push FILE.star`. Other artifacts, referrers, and deletes require a token with the scope push for the repository.';

/**
 * Refuses with DENIED what is not a script of a release. Publishers can push nothing else outside `functions/`:
 * otherwise, every publisher would have storage for any files.
 */
export function refuseOtherThanScript({ manifest, record }: PushedManifest, tags: readonly string[]): void {
  const wrong = describeOther(manifest, record.subject !== undefined);
  if (wrong !== undefined) throw refusal(`${wrong}, expected a Starlark script`);
  const tag = tags.find((one) => canonicalRelease(one) === undefined);
  if (tag !== undefined) throw refusal(`the tag "${tag}" is not a release`);
}

/** Refuses with DENIED a blob of this size that is too large for a script. */
export function refuseLargeScript(size: number): void {
  const { maxScriptBytes } = DOCUMENT_LIMITS;
  if (size > maxScriptBytes) throw refusal(`the blob exceeds ${maxScriptBytes} bytes, the limit of a script`);
}

function describeOther(manifest: Manifest, isReferrer: boolean): string | undefined {
  if (isReferrer) return 'the manifest is a referrer';
  if (manifest.kind === 'index') return 'the manifest is an index';
  const { artifact, layer } = ARTIFACT_MEDIA_TYPES.starlark;
  const { artifactType = artifact, config, layers } = manifest.image;
  if (artifactType !== artifact || !isScript(manifest.image)) return 'the artifact is of another type';
  if (config.digest !== EMPTY_DIGEST) return 'the artifact has a config';
  return layers.length === 1 && layers[0]!.mediaType === layer ? undefined : 'the artifact has other layers';
}

function refusal(why: string): OciError {
  return new OciError('DENIED', `publishers can push only scripts here: ${why}`, { hint: HINT });
}
