import path from 'node:path';
import type { ResourceIdentity } from './identity.js';

/** Returns the file of a resource that a function added, as kyaml names it. */
export function defaultPath({ kind, name, namespace }: ResourceIdentity): string {
  return path.posix.join(namespace, `${kind.toLowerCase()}_${name}.yaml`);
}
