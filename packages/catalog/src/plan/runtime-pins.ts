import { type Digest, type FunctionDefinition, isDigest } from '@krmhub/schema';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { readScriptReference } from '@krmhub/schema/script-reference';
import type { RuntimePin } from '../ports/runtime-pin.js';

/** Returns the digests of the images, executables, and scripts of a definition, and the tags of its scripts, each once. */
export function runtimePins({ versions }: Pick<FunctionDefinition, 'versions'>): RuntimePin[] {
  const pins: (RuntimePin | undefined)[] = versions.flatMap(({ runtime: { container, exec, starlark } }) => [
    digestOf(container?.sha256),
    container === undefined ? undefined : imageDigest(container.image),
    ...(exec?.platforms ?? []).map((platform) => digestOf(platform.sha256)),
    starlark === undefined ? undefined : scriptPin(starlark),
  ]);
  return [...new Set(pins.filter((pin) => pin !== undefined))];
}

/** Returns the digests and tags of the scripts of a definition, which can be in repositories of a registry. */
export function scriptPins({ versions }: Pick<FunctionDefinition, 'versions'>): RuntimePin[] {
  const pins = versions.map(({ runtime: { starlark } }) => starlark && scriptPin(starlark));
  return [...new Set(pins.filter((pin) => pin !== undefined && pin !== ''))] as RuntimePin[];
}

/**
 * Returns the digest in the reference of a script, that of its manifest or its file. Without one, its repository and
 * tag, without the host: a registry has several names.
 */
function scriptPin(reference: string): RuntimePin | undefined {
  const { digest } = readScriptReference(reference);
  if (digest !== undefined) return digestOf(digest);
  if (!reference.startsWith('oci://')) return undefined;
  const parsed = parseImageReference(reference.slice('oci://'.length));
  if (!parsed.ok || parsed.host === undefined || parsed.digest !== undefined) return undefined;
  return `${parsed.repository}:${parsed.tag ?? 'latest'}`;
}

function imageDigest(image: string): Digest | undefined {
  const parsed = parseImageReference(image);
  return parsed.ok && parsed.digest !== undefined && isDigest(parsed.digest) ? parsed.digest : undefined;
}

function digestOf(digits: string | undefined): Digest | undefined {
  const digest = `sha256:${digits}`;
  return isDigest(digest) ? digest : undefined;
}
