import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { LOCK_FILE } from '@krmhub/catalog/lock/lock';
import { diskError } from '@krmhub/consume/files/read-file';
import { KPTFILE } from '@krmhub/functions/plan';
import { findFilesBelow } from '../documents/document-files.js';
import { COMPOSITION_FILES, KUSTOMIZATION_FILES } from '../function-configs/kustomization-file.js';
import type { Io } from '../io/io.js';

/** What makes a folder a package. */
const PACKAGE_FILE = new RegExp(
  `^(?:${[...KUSTOMIZATION_FILES, ...COMPOSITION_FILES, KPTFILE, LOCK_FILE].map((name) => name.replace('.', '[.]')).join('|')})$`,
);

/**
 * Returns the packages of a path: itself, and with `recursive` also every folder below it with a kustomization,
 * Composition, Kptfile, or lock file. Links are not followed; `.git` and `node_modules` are left out. A folder comes
 * after the folders above it. Throws `not-found`.
 */
export async function findPackages(io: Io, target: string, recursive: boolean): Promise<string[]> {
  let root: string;
  try {
    root = await realpath(path.resolve(io.cwd, target));
    if (!recursive || !(await stat(root)).isDirectory()) return [root];
  } catch (error) {
    throw diskError(error, `cannot read ${target}`);
  }
  const files = await findFilesBelow(io, root, PACKAGE_FILE);
  return [...new Set([root, ...files.map((file) => path.dirname(path.resolve(io.cwd, file)))])].sort();
}
