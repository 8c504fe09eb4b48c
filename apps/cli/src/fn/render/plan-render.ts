import path from 'node:path';
import type { Package, Resource } from '@krmhub/functions/fn';
import {
  checkPipeline,
  KPTFILE,
  type Kptfile,
  type PackageNode,
  type PipelineFunction,
  packageOf,
  packageTree,
  renderOrder,
} from '@krmhub/functions/plan';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../../io/io.js';
import { escapeControls } from '../../io/text.js';
import type { FnSession } from '../fn-session.js';
import type { FnStep } from '../progress.js';
import { readKptfiles } from '../read-package-files.js';
import { planStep } from './plan-step.js';

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

/** Reads and checks the pipelines of a package, and makes its functions ready to run. */
export async function planRender(
  io: Pick<Io, 'cwd'>,
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
  for (const one of packages) {
    for (const fn of one.kptfile.pipeline) {
      try {
        one.steps.push(await planStep(fn, one, files.folder, session));
      } catch (error) {
        if (!(error instanceof KrmhubError) || session.signal.aborted) throw error;
        session.progress.recordFailure(recordOf(fn, one, error));
        const wrapped = inPipeline(`${path.posix.join(one.display, KPTFILE)}: ${placeOf(fn)}`, error);
        return { root, packages, failure: { packages: ancestors(packages, one), error: wrapped } };
      }
    }
  }
  return { root, packages };
}

async function readPackages(io: Pick<Io, 'cwd'>, name: string, files: Package): Promise<PlannedPackage[]> {
  const kptfiles = await readKptfiles(name, files);
  const folders = new Set(kptfiles.keys());
  const own = new Map<string, Resource[]>([...folders].map((folder) => [folder, []]));
  const root = path.basename(files.folder);
  const displayOf = (folder: string) => path.posix.join(root, folder) || '.';
  for (const resource of files.resources) {
    // A Kptfile belongs to the package that it makes.
    const folder = packageOf(resource.path, folders);
    const inside = folder === '' ? resource.path : resource.path.slice(folder.length + 1);
    own.get(folder)!.push(resource.at({ path: inside, packagePath: displayOf(folder) }));
  }
  const tree = packageTree([...folders]);
  const order = kptfiles.get('')!.isBreadthFirst ? levels(tree) : renderOrder(tree);
  return order.map((node) => ({
    node,
    kptfile: kptfiles.get(node.path)!,
    display: displayOf(node.path),
    relative: path.join(path.relative(io.cwd, path.resolve(io.cwd, name)), node.path) || '.',
    resources: own.get(node.path)!,
    steps: [],
  }));
}

/** Lists packages level by level, from the root. */
function levels(root: PackageNode): PackageNode[] {
  const order = [root];
  for (const node of order) order.push(...node.subpackages);
  return order;
}

/** The packages down to one, from the root. */
export function ancestors(packages: readonly PlannedPackage[], { node }: PlannedPackage): PlannedPackage[] {
  const isAbove = ({ node: { path: at } }: PlannedPackage) =>
    at === '' || node.path === at || node.path.startsWith(`${at}/`);
  return packages.filter(isAbove).sort((a, b) => a.node.path.length - b.node.path.length);
}

function recordOf(fn: PipelineFunction, { display }: PlannedPackage, { message }: KrmhubError) {
  const { image, exec, when, name } = fn;
  return {
    name: image ?? exec ?? name ?? placeOf(fn),
    package: display,
    type: fn.field === 'mutators' ? ('mutator' as const) : ('validator' as const),
    ...(name === undefined ? {} : { step: name }),
    ...(image === undefined ? {} : { image }),
    ...(exec === undefined ? {} : { exec }),
    ...(when === undefined ? {} : { when }),
    error: message,
  };
}

function placeOf({ field, index }: PipelineFunction): string {
  return `pipeline.${field}[${index}]`;
}

function inPipeline(where: string, error: KrmhubError): KrmhubError {
  const { code, hint, message, diagnostics } = error;
  return new KrmhubError(code, `${where}: ${message}`, {
    diagnostics,
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}
