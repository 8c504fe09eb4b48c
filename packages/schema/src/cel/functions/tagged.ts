/**
 * CEL functions of Kubernetes and of CEL extensions, for example for quantities and URLs.
 *
 * @module
 */

import type { CelInput, CelMap, CelValue } from '@bufbuild/cel';
import { loadCel } from '../../libraries/lazy-libraries.js';

/**
 * Values of the types that Kubernetes adds, such as quantities. The language has no way to add a type: each is a map
 * with one key, which no expression can write by mistake.
 */
export function tagged(type: string, value: CelInput): CelInput {
  return loadCel().celMap(new Map([[`@${type}`, value]]));
}

/** Returns the value of a type; undefined for any other value. */
export function untagged(type: string, value: CelMap): CelValue | undefined {
  return value.size === 1 ? value.get(`@${type}`) : undefined;
}
