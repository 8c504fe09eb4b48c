import path from 'node:path';
import type { Resource } from '@krmhub/functions/fn';
import { defined } from '@krmhub/schema/defined';
import type { FnSession } from '../fn-session.js';
import { runSteps } from '../run-steps.js';
import {
  ancestors,
  fileInRoot,
  type PlannedPackage,
  type PlanResult,
  type TreeFailure,
} from './planned-package.js';

/** What rendering gave. */
export interface RenderedTree {
  /** With paths relative to the root. After a failure: what was rendered before it, and the rest as it was. */
  resources: Resource[];
  /** Packages that were begun. */
  rendered: number;
  failure?: TreeFailure;
}

/** Runs the pipelines of all packages in their order, until one fails. */
export async function renderTree(plan: PlanResult, session: FnSession): Promise<RenderedTree> {
  const { root, packages } = plan;
  const tree = root.kptfile.isBreadthFirst ? new TopDown(packages) : new BottomUp(packages);
  const base = path.posix.basename(root.display);
  const begun = new Set<PlannedPackage>();
  let failure: TreeFailure | undefined;
  for (const one of packages) {
    const above = ancestors(packages, one);
    for (const each of above) begun.add(each);
    const result = await runPackage(one, tree.input(one), session);
    tree.output(one, result.resources);
    if (result.ok) continue;
    failure = { packages: above, ...defined({ error: result.error }) };
    break;
  }
  const resources = tree.all(root).map((one) => one.at({ path: fileInRoot(one, base), packagePath: '' }));
  return { resources, rendered: begun.size, ...defined({ failure }) };
}

async function runPackage(
  { display, steps }: PlannedPackage,
  input: readonly Resource[],
  { progress, signal, settings }: FnSession,
): ReturnType<typeof runSteps> {
  progress.enterPackage(display);
  const result = await runSteps(input, steps, { progress, signal, settings, packagePath: display });
  if (result.ok && steps.length > 0) progress.print('');
  return result;
}

/** A package gets the output of its subpackages, and gives all of that to its parent. */
class BottomUp {
  readonly #packages: ReadonlyMap<string, PlannedPackage>;
  readonly #rendered = new Map<string, readonly Resource[]>();

  constructor(packages: readonly PlannedPackage[]) {
    this.#packages = new Map(packages.map((one) => [one.node.path, one]));
  }

  input({ node, resources }: PlannedPackage): Resource[] {
    return [...node.subpackages.flatMap((below) => this.all(this.#packages.get(below.path)!)), ...resources];
  }

  output({ node }: PlannedPackage, resources: readonly Resource[]): void {
    this.#rendered.set(node.path, resources);
  }

  /** A package and all below it. */
  all(one: PlannedPackage): readonly Resource[] {
    return this.#rendered.get(one.node.path) ?? this.input(one);
  }
}

/** A package gets its own resources and those below it, which get them back as it changed them. */
class TopDown {
  readonly #own: Map<string, readonly Resource[]>;
  readonly #packages: ReadonlyMap<string, PlannedPackage>;

  constructor(packages: readonly PlannedPackage[]) {
    this.#packages = new Map(packages.map((one) => [one.node.path, one]));
    this.#own = new Map(packages.map(({ display, resources }) => [display, resources]));
  }

  input(one: PlannedPackage): Resource[] {
    return this.#below(one).flatMap(({ display }) => this.#own.get(display)!);
  }

  output(one: PlannedPackage, resources: readonly Resource[]): void {
    const below = this.#below(one).map(({ display }) => display);
    for (const display of below) this.#own.set(display, []);
    for (const resource of resources) {
      const owner = below.includes(resource.packagePath) ? resource.packagePath : one.display;
      this.#own.set(owner, [...this.#own.get(owner)!, resource]);
    }
  }

  all(root: PlannedPackage): readonly Resource[] {
    return this.input(root);
  }

  /** A package, and then those below it. */
  #below(one: PlannedPackage): PlannedPackage[] {
    return [one, ...one.node.subpackages.flatMap(({ path: at }) => this.#below(this.#packages.get(at)!))];
  }
}
