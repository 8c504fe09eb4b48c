/**
 * Plans and runs the pipelines of a package and its subpackages.
 *
 * @module
 */

import path from 'node:path';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { type Package, type Resource, requireResources } from '@krmhub/functions/fn';
import {
  checkPipeline,
  KPTFILE,
  levelOrder,
  nearestPackage,
  type PackageNode,
  type PipelineFunction,
  packageTree,
  renderOrder,
} from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { planAll } from '../../run/permissions.js';
import type { FnSession } from '../fn-session.js';
import { readKptfiles } from '../read-package-files.js';
import { planStep } from './plan-step.js';
import { ancestors, type PlannedPackage, type PlanResult } from './planned-package.js';

/** Reads and checks the pipelines of a package, and makes its functions ready to run. */
export async function planRender(
  io: WorkingFolder,
  name: string,
  files: Package,
  session: FnSession,
): Promise<PlanResult> {
  const packages = await readPackages(io, name, files);
  const root = packages.find(({ node }) => node.path === '')!;
  for (const { kptfile, display } of packages) {
    for (const text of kptfile.warnings) {
      session.progress.print(escapeControls(`warning: ${path.posix.join(display, KPTFILE)}:${text}`));
    }
  }
  for (const { kptfile, resources } of packages) {
    checkPipeline(
      kptfile,
      resources.map(({ path: file, identity }) => ({ ...identity, path: file })),
    );
  }
  const steps = packages.flatMap((one) => one.kptfile.pipeline.map((fn) => ({ fn, one })));
  let failed: (typeof steps)[number] | undefined;
  try {
    await planAll(steps, async ({ fn, one }) => {
      try {
        const isAlone = one === root || !root.kptfile.isBreadthFirst;
        const isFixed = isAlone && fn === one.kptfile.pipeline[0] && fn.when === undefined;
        one.steps.push(await planStep(fn, one, { root: files.folder, isFixed }, session));
      } catch (error) {
        if (!(error instanceof KrmhubError) || session.signal.aborted) throw error;
        if (failed === undefined) session.progress.recordFailure(describeFailure(fn, one, error));
        failed ??= { fn, one };
        throw inPipeline(`${path.posix.join(one.display, KPTFILE)}: ${fieldPath(fn)}`, error);
      }
    });
  } catch (error) {
    if (failed === undefined || !(error instanceof KrmhubError)) throw error;
    return { root, packages, failure: { packages: ancestors(packages, failed.one), error } };
  }
  requireInputs(root.node, new Map(packages.map((one) => [one.node.path, one])));
  return { root, packages };
}

/**
 * Throws for all documents that are not resources and that a function would get. kpt checks the resources of a package
 * without functions, too.
 */
function requireInputs(root: PackageNode, packages: ReadonlyMap<string, PlannedPackage>): void {
  const checked = new Map<string, readonly Resource[]>();
  const all: Resource[] = [];
  for (const node of renderOrder(root)) {
    const { resources, steps } = packages.get(node.path)!;
    const below = node.subpackages.flatMap(({ path: one }) => checked.get(one)!);
    const own = resources.map((one) => one.at({ path: path.posix.join(node.path, one.path) }));
    const isChecked = steps.length === 0 || steps.some(({ isSelective }) => !isSelective);
    if (isChecked) all.push(...below, ...own);
    checked.set(node.path, isChecked ? [] : [...below, ...own]);
  }
  requireResources(all, 'input');
}

async function readPackages(io: WorkingFolder, name: string, files: Package): Promise<PlannedPackage[]> {
  const kptfiles = await readKptfiles(name, files);
  const folders = new Set(kptfiles.keys());
  const own = new Map<string, Resource[]>([...folders].map((folder) => [folder, []]));
  const root = path.basename(files.folder);
  const displayPath = (folder: string) => path.posix.join(root, folder) || '.';
  for (const resource of files.resources) {
    // A Kptfile belongs to the package that it makes.
    const folder = nearestPackage(resource.path, folders);
    const inside = folder === '' ? resource.path : resource.path.slice(folder.length + 1);
    own.get(folder)!.push(resource.at({ path: inside, packagePath: displayPath(folder) }));
  }
  const tree = packageTree([...folders]);
  const order = kptfiles.get('')!.isBreadthFirst ? levelOrder(tree) : renderOrder(tree);
  return order.map((node) => ({
    node,
    kptfile: kptfiles.get(node.path)!,
    display: displayPath(node.path),
    relative: path.join(path.relative(io.cwd, path.resolve(io.cwd, name)), node.path) || '.',
    resources: own.get(node.path)!,
    steps: [],
  }));
}

function describeFailure(fn: PipelineFunction, { display }: PlannedPackage, { message }: KrmhubError) {
  const { image, exec, when, name } = fn;
  return {
    name: image ?? exec ?? name ?? fieldPath(fn),
    package: display,
    type: fn.field === 'mutators' ? ('mutator' as const) : ('validator' as const),
    ...defined({ step: name, image, exec, when }),
    error: message,
  };
}

function fieldPath({ field, index }: PipelineFunction): string {
  return `pipeline.${field}[${index}]`;
}

function inPipeline(where: string, error: KrmhubError): KrmhubError {
  const { code, hint, message, diagnostics } = error;
  return new KrmhubError(code, `${where}: ${message}`, {
    diagnostics,
    cause: error,
    ...defined({ hint }),
  });
}
