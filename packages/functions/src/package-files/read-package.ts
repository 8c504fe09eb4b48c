/**
 * Reads the files of a package, and writes all changes of them or none.
 *
 * `plan-write.ts` decides what each file gets, and `edit-files.ts` edits its text. A write survives a kill and a loss of
 * power: `journal.ts` describes its states.
 *
 * @module
 */

import { realpathSync, statSync } from 'node:fs';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { MAX_TEXT_WITH_MODELS } from '../resource-list/model-limits.js';
import { readResources } from '../resource-list/read-resources.js';
import { Resource, resourceProblem } from '../resource-list/resource.js';
import { fileError } from './file-error.js';
import { PACKAGE_LIMITS, type PackageLimits } from './limits.js';
import { KPTFILE, type PackageFiles } from './package-file.js';
import { type Recovery, recoverPackage } from './recover-package.js';
import { walkPackage } from './walk-package.js';

/** A package, and what `applyWrite` needs to write it back. */
export interface Package extends PackageFiles {
  /** Their paths are relative to the folder. In the order in which kpt reads them. */
  resources: readonly Resource[];
  /** What was done with an interrupted write before the files were read. */
  recovery?: Recovery;
}

export interface ReadOptions {
  limits?: PackageLimits;
  /** Leaves out files that are not UTF-8, YAML, and Kubernetes resources. They are in `skipped`. Default: no. */
  skipsUnreadable?: boolean;
}

/**
 * Reads the resources of a folder and its subpackages. If a write of it was interrupted, that is completed or undone
 * first. Throws `not-found`, `too-large`, and for all files that cannot be read `invalid-document` or `unavailable`.
 */
export async function readPackage(
  folder: string,
  { limits = PACKAGE_LIMITS, skipsUnreadable = false }: ReadOptions = {},
): Promise<Package> {
  const real = realFolder(folder);
  const recovery = await recoverPackage(real);
  const problems: FileProblem[] = [];
  const found = walkPackage(real, limits, (path, error) => problems.push({ path, error }));
  const resources: Resource[] = [];
  let size = 0;
  for (const { text } of found.files.values()) size += text.length;
  const dropsModels = size > MAX_TEXT_WITH_MODELS;
  for (const { path, text } of found.files.values()) {
    try {
      resources.push(...readFile(text, path, { dropsModels, requiresResources: skipsUnreadable }));
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      problems.push({ path, error });
    }
  }
  const refused = problems.filter(({ path }) => !skipsUnreadable || isKptfile(path));
  if (refused.length > 0) throw unreadable(refused);
  for (const { path, error } of problems) {
    found.files.delete(path);
    found.skipped.push({ path, reason: error.message.replace(/^cannot read /, '') });
  }
  return { ...found, resources, ...defined({ recovery }) };
}

interface FileProblem {
  path: string;
  error: KrmhubError;
}

/** Without a Kptfile, a folder would be another package. */
function isKptfile(path: string): boolean {
  return path === KPTFILE || path.endsWith(`/${KPTFILE}`);
}

function readFile(
  text: string,
  path: string,
  { dropsModels, requiresResources }: { dropsModels: boolean; requiresResources: boolean },
): Resource[] {
  const resources = readResources(text, { path, dropsModels });
  for (const resource of requiresResources ? resources : []) {
    const problem = resourceProblem(resource);
    if (problem !== undefined) throw new KrmhubError('invalid-document', `${path}: ${problem}`);
  }
  return resources.map((one, index) => new Resource(one.body, one, { path, index, isChanged: false }));
}

/** Files of one error. */
const MAX_NAMED = 200;

/** One error that names all files. */
function unreadable(problems: readonly FileProblem[]): KrmhubError {
  const [{ error }] = problems as [FileProblem, ...FileProblem[]];
  const lines = problems.slice(0, MAX_NAMED).map((one) => `  ${one.error.message}`);
  if (problems.length > MAX_NAMED) lines.push(`  and ${problems.length - MAX_NAMED} more`);
  const message =
    problems.length === 1 ? error.message : `cannot read ${problems.length} files:\n${lines.join('\n')}`;
  const hints = new Set(problems.flatMap((one) => one.error.hint ?? []));
  return new KrmhubError(error.code, message, {
    hint: [...hints, 'To leave files out, list them in .krmignore, or use --skip-unreadable.'].join(' '),
    cause: error,
  });
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
