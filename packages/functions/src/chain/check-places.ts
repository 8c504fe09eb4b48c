import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { reservedReason } from '../resource-list/reserved-files.js';
import type { Resource } from '../resource-list/resource.js';

/**
 * Throws if a function moved a resource out of its package, or two resources to one place; with the messages of kpt.
 */
export function checkPlaces(resources: readonly Resource[]): void {
  const taken = new Set<string>();
  const checked = new Map<string, string>();
  for (const resource of resources) {
    // Several resources are in one file.
    let clean = checked.get(resource.path);
    if (clean === undefined) {
      clean = path.posix.normalize(resource.path);
      if (isOutside(path.posix.normalize(resource.path.replace(/^\/+/, '')))) {
        throw new KrmhubError(
          'function-failed',
          `function must not modify resources outside of package: resource has path ${resource.path}`,
        );
      }
      const reserved = reservedReason(clean.replace(/^\/+/, ''));
      if (reserved !== undefined) {
        throw new KrmhubError(
          'function-failed',
          `function must not write ${JSON.stringify(resource.path)}: ${reserved}`,
        );
      }
      checked.set(resource.path, clean);
    }
    // No path has a null character: those of the resource are checked above, and the others are of the package.
    const place = `${resource.index}\0${clean}\0${resource.packagePath}`;
    if (taken.has(place)) {
      const index = resource.index === undefined ? '' : String(resource.index);
      throw new KrmhubError(
        'function-failed',
        `resource at path ${JSON.stringify(clean)} and index ${JSON.stringify(index)} already exists`,
      );
    }
    taken.add(place);
  }
}

/** Git runs what is in its folder. What is absolute is refused when it is written, as in kpt. */
function isOutside(clean: string): boolean {
  return (
    clean.includes('\0') || clean.split('/').some((part) => part === '..' || part.toLowerCase() === '.git')
  );
}
