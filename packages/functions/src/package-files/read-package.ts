import { realpathSync, statSync } from 'node:fs';
import { KrmhubError } from '@krmhub/schema/error';
import { MAX_TEXT_WITH_MODELS } from '../resource-list/model-limits.js';
import { readResources } from '../resource-list/read-resources.js';
import type { Resource } from '../resource-list/resource.js';
import { fileError } from './file-error.js';
import { PACKAGE_LIMITS, type PackageLimits } from './limits.js';
import type { PackageFiles } from './package-file.js';
import { recoverPackage } from './recover-package.js';
import { walkPackage } from './walk-package.js';

/** A package, and what `applyWrite` needs to write it back. */
export interface Package extends PackageFiles {
  /** Their paths are relative to the folder. In the order in which kpt reads them. */
  resources: readonly Resource[];
}

/**
 * Reads the resources of a folder and its subpackages. If a write of it was interrupted, that is completed or undone
 * first. Throws `not-found`, `invalid-document`, `too-large`, `unavailable`.
 */
export async function readPackage(
  folder: string,
  { limits = PACKAGE_LIMITS }: { limits?: PackageLimits } = {},
): Promise<Package> {
  const real = realFolder(folder);
  await recoverPackage(real);
  const files = walkPackage(real, limits);
  const resources: Resource[] = [];
  let size = 0;
  for (const { text } of files.files.values()) size += text.length;
  const dropsModels = size > MAX_TEXT_WITH_MODELS;
  for (const { path, text } of files.files.values()) {
    resources.push(...readResources(text, { path, dropsModels }));
  }
  return { ...files, resources };
}

function realFolder(folder: string): string {
  try {
    const real = realpathSync(folder);
    if (statSync(real).isDirectory()) return real;
  } catch (error) {
    throw fileError(`cannot read the package ${folder}`, error);
  }
  throw new KrmhubError('invalid-request', `cannot read the package ${folder}: it is not a folder`);
}
