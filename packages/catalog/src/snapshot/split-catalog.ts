import {
  type Catalog,
  canonicalRelease,
  type FunctionDefinition,
  KrmhubError,
  parseImageReference,
} from '@krmhub/schema';
import { renderDefinition } from '../render/render.js';

/**
 * Splits a catalog into publishable documents, in catalog order (KEP-2906, Story 1). Throws `invalid-document` if the
 * catalog contains a function twice, because a release has one definition.
 */
export function splitCatalog(catalog: Catalog): { definition: FunctionDefinition; bytes: Uint8Array }[] {
  const seen = new Map<string, string>();
  const twice: string[] = [];
  for (const { group, names } of catalog.functions) {
    const name = `${group}/${names.kind}`;
    const first = seen.get(name.toLowerCase());
    if (first === undefined) seen.set(name.toLowerCase(), name);
    else twice.push(first === name ? name : `${first} and ${name}`);
  }
  if (twice.length > 0) {
    throw new KrmhubError('invalid-document', `the catalog has duplicate functions: ${twice.join(', ')}`, {
      hint: 'Move all API versions of a function to one entry. Kinds of one group must not differ only in case.',
    });
  }
  const encoder = new TextEncoder();
  return catalog.functions.map((definition) => ({
    definition,
    bytes: encoder.encode(renderDefinition(definition)),
  }));
}

/**
 * Returns the canonical release in the image tags of a definition. Undefined if there is no image, a tag is missing or
 * not a single release (`v1` moves), or two tags differ.
 */
export function sharedImageRelease(definition: FunctionDefinition): string | undefined {
  const releases = new Set<string | undefined>();
  for (const { runtime } of definition.versions) {
    if (runtime.container !== undefined) releases.add(imageRelease(runtime.container.image));
  }
  return releases.size === 1 ? [...releases][0] : undefined;
}

function imageRelease(image: string): string | undefined {
  const reference = parseImageReference(image);
  if (!reference.ok || reference.tag === undefined || !/^v?\d+\.\d+/.test(reference.tag)) return undefined;
  return canonicalRelease(reference.tag);
}
