import path from 'node:path';
import type { Resource } from '@krmhub/functions/fn';
import type { Kptfile, PackageNode } from '@krmhub/functions/plan';
import type { KrmhubError } from '@krmhub/schema/error';
import type { FnStep } from '../progress.js';

/** A package of the tree that is rendered. */
export interface PlannedPackage {
  node: PackageNode;
  /** For messages: the name of the root folder, and the path below it. */
  display: string;
  /** Relative to the working directory, as kpt names it in errors. */
  relative: string;
  kptfile: Kptfile;
  /** Its own resources, with paths relative to it. */
  resources: Resource[];
  steps: FnStep[];
}

/** Why a render ended. Without an error, a function exited with another code than 0, which has been printed. */
export interface TreeFailure {
  /** The packages down to the one that failed. */
  packages: readonly PlannedPackage[];
  error?: KrmhubError;
}

export interface PlanResult {
  root: PlannedPackage;
  /** Subpackages before their parents, or after them, if the Kptfile wants that. */
  packages: PlannedPackage[];
  /** A function cannot run. */
  failure?: TreeFailure;
}

/** The packages down to one, from the root. */
export function ancestors(packages: readonly PlannedPackage[], { node }: PlannedPackage): PlannedPackage[] {
  const isAbove = ({ node: { path: at } }: PlannedPackage) =>
    at === '' || node.path === at || node.path.startsWith(`${at}/`);
  return packages.filter(isAbove).sort((a, b) => a.node.path.length - b.node.path.length);
}

/** The path of a file in the root package, whose name is `base`. */
export function fileInRoot(resource: Resource, base: string): string {
  const folder = path.posix.relative(`/${base}`, `/${resource.packagePath}`);
  return path.posix.join(folder, resource.path);
}
