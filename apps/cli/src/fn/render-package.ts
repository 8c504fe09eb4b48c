import path from 'node:path';
import { type Package, type Resource, requireResources } from '@krmhub/functions/fn';
import {
  checkPipeline,
  cleanPath,
  configMapText,
  KPTFILE,
  type Kptfile,
  type PackageNode,
  type PipelineFunction,
  packageOf,
  packageTree,
  renderOrder,
  resourceFilter,
} from '@krmhub/functions/plan';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { escapeControls } from '../io/text.js';
import { requirePackageExec } from './exec-function.js';
import { type FnOutcome, type FnSession, withFunctions } from './fn-session.js';
import type { FnStep } from './progress.js';
import { readKptfiles, readPackageFiles } from './read-package-files.js';
import { requireNewFolder } from './require-new-folder.js';
import { runSteps } from './run-steps.js';
import type { Runnable } from './runnable.js';
import type { FnSettings } from './settings.js';
import { writeOutput } from './write-output.js';

/** A package of the tree that is rendered. */
interface RenderedPackage {
  node: PackageNode;
  /** For messages: the name of the root folder, and the path below it. */
  display: string;
  kptfile: Kptfile;
  /** Its own resources, with paths relative to it. */
  resources: Resource[];
  steps: FnStep[];
}

/**
 * Runs the pipelines of a package and its subpackages, as `kpt fn render`: subpackages first, in alphabetical order.
 * All functions are checked, resolved, and fetched before the first runs. Files are written once, at the end, all or
 * none.
 */
export async function renderPackage(io: Io, name: string, settings: FnSettings): Promise<void> {
  const { output } = settings;
  await requireNewFolder(io, output);
  const files = await readPackageFiles(io, name, settings);
  const isInPlace = output.type === 'package' || output.type === 'report';
  await withFunctions(
    io,
    settings,
    { folder: files.folder, results: 'one', hasGap: false },
    async (session): Promise<FnOutcome> => {
      const packages = await planPackages(name, files, session);
      const rendered = await renderAll(packages, files.folder, session);
      if (rendered === undefined) return { hasFailed: true, changes: [] };
      const { signal, progress } = session;
      await progress.flush();
      const changes = await writeOutput(io, {
        target: output,
        package: files,
        resources: rendered,
        isDryRun: settings.isDryRun,
        signal,
      });
      if (!isInPlace) return { hasFailed: false, changes };
      const count = packages.length;
      const summary = `Successfully executed ${progress.ran.length} function(s) in ${count} package(s).`;
      return { hasFailed: false, changes, summary };
    },
  );
}

async function planPackages(name: string, files: Package, session: FnSession): Promise<RenderedPackage[]> {
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
  const packages = renderOrder(packageTree([...folders])).map((node): RenderedPackage => {
    const kptfile = kptfiles.get(node.path)!;
    return { node, kptfile, display: displayOf(node.path), resources: own.get(node.path)!, steps: [] };
  });
  for (const { kptfile, display } of packages) {
    for (const text of kptfile.warnings) {
      session.progress.print(escapeControls(`warning: ${path.posix.join(display, KPTFILE)}:${text}`));
    }
  }
  for (const one of packages) {
    checkPipeline(
      one.kptfile,
      one.resources.map(({ path: file, identity }) => ({ ...identity, path: file })),
    );
  }
  for (const one of packages) {
    const folder = path.join(files.folder, one.node.path);
    for (const fn of one.kptfile.pipeline) one.steps.push(await planStep(fn, one, folder, session));
  }
  requireInputs(packages);
  return packages;
}

async function planStep(
  fn: PipelineFunction,
  { kptfile, resources, display }: RenderedPackage,
  folder: string,
  { functions, settings }: FnSession,
): Promise<FnStep> {
  const where = `pipeline.${fn.field}[${fn.index}]`;
  const config = fn.configPath === undefined ? undefined : configOf(resources, display, fn.configPath);
  let runnable: Runnable;
  try {
    if (fn.image !== undefined) runnable = functions.image(fn.image);
    else if (fn.exec !== undefined) {
      requirePackageExec(settings, fn.exec);
      runnable = functions.exec(fn.exec);
    } else {
      const { apiVersion, kind } = config!.identity;
      const catalogs = kptfile.catalogs.map((text) => ({ text, folder }));
      runnable = await functions.ofType({ apiVersion, kind, catalogs }, folder);
    }
  } catch (error) {
    throw inPipeline(`${path.posix.join(display, 'Kptfile')}: ${where}`, error);
  }
  const select = resourceFilter(fn.selectors, fn.exclude);
  return {
    ...runnable,
    type: fn.field === 'mutators' ? 'mutator' : 'validator',
    isSelective: select !== undefined,
    allowEmpty: settings.allowEmpty,
    ...(select === undefined ? {} : { select: (resource) => select(resource.identity) }),
    ...functionConfig(fn, display, config),
    ...(fn.configPath === undefined ? {} : { configFile: path.join(folder, fn.configPath) }),
  };
}

/**
 * The functionConfig of an entry. A file can be changed by the functions before, and keeps its last content if one
 * deletes it.
 */
function functionConfig(
  { configPath, configMap }: PipelineFunction,
  display: string,
  config: Resource | undefined,
): Pick<FnStep, 'functionConfig'> {
  if (configMap !== undefined) return { functionConfig: configMapText({ values: configMap }) };
  if (configPath === undefined) return {};
  return { functionConfig: (resources) => (configOf(resources, display, configPath) ?? config)?.text() };
}

function configOf(resources: readonly Resource[], display: string, configPath: string): Resource | undefined {
  const clean = cleanPath(configPath);
  return resources.find((resource) => resource.packagePath === display && resource.path === clean);
}

/** Renders each package with the output of its subpackages. Undefined if a function failed. */
async function renderAll(
  packages: readonly RenderedPackage[],
  root: string,
  { progress, signal }: FnSession,
): Promise<Resource[] | undefined> {
  const rendered = new Map<string, readonly Resource[]>();
  for (const { node, display, resources, steps } of packages) {
    const input = [...node.subpackages.flatMap((below) => rendered.get(below.path)!), ...resources];
    progress.enterPackage(display);
    const result = await runSteps(input, steps, { progress, signal, packagePath: display });
    if (!result.ok) return undefined;
    if (steps.length > 0) progress.print('');
    rendered.set(node.path, result.resources);
  }
  const base = path.basename(root);
  return rendered.get('')!.map((resource) => {
    const folder = path.posix.relative(`/${base}`, `/${resource.packagePath}`);
    return resource.at({ path: path.posix.join(folder, resource.path), packagePath: '' });
  });
}

/**
 * Throws for all documents that are not resources and that a function would get. kpt checks the resources of a package
 * without functions, too.
 */
function requireInputs(packages: readonly RenderedPackage[]): void {
  const checked = new Map<string, readonly Resource[]>();
  const all: Resource[] = [];
  for (const { node, resources, steps } of packages) {
    const below = node.subpackages.flatMap(({ path: one }) => checked.get(one)!);
    const own = resources.map((one) => one.at({ path: path.posix.join(node.path, one.path) }));
    const isChecked = steps.length === 0 || steps.some(({ select }) => select === undefined);
    if (isChecked) all.push(...below, ...own);
    checked.set(node.path, isChecked ? [] : [...below, ...own]);
  }
  requireResources(all, 'input');
}

function inPipeline(where: string, error: unknown): unknown {
  if (!(error instanceof KrmhubError)) return error;
  const { code, hint, message, diagnostics } = error;
  return new KrmhubError(code, `${where}: ${message}`, {
    diagnostics,
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}
