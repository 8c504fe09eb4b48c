import { canonicalRelease } from '../documents/release.js';

/** Returns the deepest folder that is a release, such as `v0.3` in `set-labels/v0.3/metadata.yaml`. */
export function releaseFromPath(path: string): string | undefined {
  const folders = path.split(/[\\/]/).slice(0, -1);
  return folders.findLast((folder) => /^v\d+\.\d/.test(folder) && canonicalRelease(folder) !== undefined);
}
