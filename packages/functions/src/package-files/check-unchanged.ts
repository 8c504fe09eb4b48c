import { lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import type { PackageLimits } from './limits.js';
import { type PackageFiles, writtenPath } from './package-file.js';
import { fileVersion, listPackage } from './walk-package.js';
import type { WritePlan } from './write-plan.js';

/**
 * Throws `conflict` if the files of a package are not those that were read. Files that will be replaced are compared as
 * a whole: an edit within a tick of the clock that keeps the size is not seen otherwise.
 */
export function checkUnchanged(
  { folder, files, skipped }: PackageFiles,
  plan: WritePlan,
  limits: PackageLimits,
): void {
  const listed = listPackage(folder, limits);
  const known = new Set([...files.keys(), ...skipped.map(({ path: at }) => at)]);
  for (const at of listed.keys()) if (!known.has(at)) throw changedMeanwhile(at, 'was added');
  const replaced = new Set(plan.changes.flatMap(({ type, path: at }) => (type === 'create' ? [] : [at])));
  for (const file of files.values()) {
    const written = writtenPath(file);
    if (!listed.has(file.path)) throw changedMeanwhile(file.path, 'was removed');
    if (listed.get(file.path) !== written) throw changedMeanwhile(file.path, 'was changed');
    const place = path.join(folder, written);
    const stat = lstatSync(place, { bigint: true });
    const now = fileVersion(stat);
    const isSame =
      now.inode === file.version.inode &&
      now.size === file.version.size &&
      now.modifiedNanoseconds === file.version.modifiedNanoseconds;
    if (isSame && !replaced.has(written)) continue;
    if (!stat.isFile() || readFileSync(place, 'utf8') !== file.text)
      throw changedMeanwhile(file.path, 'was changed');
  }
  for (const { type, path: at } of plan.changes) {
    const isTaken = lstatSync(path.join(folder, at), { throwIfNoEntry: false }) !== undefined;
    if (type === 'create' && isTaken) {
      throw new KrmhubError(
        'conflict',
        `cannot create ${at}: it already exists, and was not read as a resource`,
      );
    }
  }
}

export function changedMeanwhile(at: string, what: string): KrmhubError {
  return new KrmhubError('conflict', `cannot write the package: ${at} ${what} while the functions ran`, {
    hint: 'Nothing was written. Run the command again.',
  });
}
