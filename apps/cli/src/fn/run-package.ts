import { stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import { decodeText, type Package, type Resource, readPackage, readResources } from '@krmhub/functions/fn';
import { configMapText, readConfigArguments, typedConfigText } from '@krmhub/functions/plan';
import { functionScope, isInScope, runOrder } from '@krmhub/functions/plan/declared-functions';
import {
  RUNTIME_ANNOTATIONS,
  readRuntimeField,
  requireRuntime,
} from '@krmhub/functions/plan/declared-runtime';
import { defined } from '@krmhub/schema/defined';
import type { JsonObject } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { planAll } from '../run/permissions.js';
import { declaredFunction } from './declared-function.js';
import { type FnOutcome, type FnSession, withFunctions } from './fn-session.js';
import { writtenRange } from './functions.js';
import { namedType } from './named-type.js';
import type { FnStep } from './progress.js';
import { readPackageFiles } from './read-package-files.js';
import { requireNewFolder } from './require-new-folder.js';
import { runSteps } from './run-steps.js';
import type { Runnable } from './runnable.js';
import type { FnSettings } from './settings.js';
import { writeOutput } from './write-output.js';

export interface RunOptions {
  settings: FnSettings;
  image?: string;
  exec?: string;
  /** `GROUP/VERSION/KIND` of a function of a catalog. */
  function?: string;
  /** Folders or files of functionConfigs, in place of those of the package. */
  configs: readonly string[];
  /** Every function gets all resources. */
  isGlobal: boolean;
  /** `[KIND] KEY=VALUE…` */
  arguments: readonly string[];
}

/** A function with the folder that it is for; empty for the whole package. */
interface ScopedStep extends FnStep {
  scope: string;
}

/**
 * Runs functions as `kpt fn run` of 2020 did: one that the command names, or those that functionConfigs of the package
 * declare. All are checked, resolved, and fetched before the first runs. Files are written once, at the end, all or
 * none.
 */
export async function runPackage(io: Io, name: string, options: RunOptions): Promise<void> {
  const { settings } = options;
  const { output, isDryRun, format } = settings;
  checkOptions(options);
  await requireNewFolder(io, output);
  const files = await readPackageFiles(io, name, settings);
  const session = { folder: files.folder, results: 'numbered', hasGap: true } as const;
  await withFunctions(io, settings, session, async ({ progress, signal, ...rest }): Promise<FnOutcome> => {
    const steps = isImperative(options)
      ? [await imperativeStep({ progress, signal, ...rest }, options, files.folder)]
      : await declaredSteps(io, { progress, signal, ...rest }, options, files);
    let resources: readonly Resource[] = files.resources;
    let hasFailed = false;
    for (const { scope, ...step } of steps) {
      const before = resources;
      const result = await runSteps(before, [step], { progress, signal, settings });
      if (result.error !== undefined) throw result.error;
      if (!result.ok && step.deferFailure !== true) return { hasFailed: true, changes: [] };
      resources = placeGenerated(scope, result.resources, before);
      hasFailed ||= !result.ok;
    }
    await progress.flush();
    const target = { target: output, package: files, format, isDryRun };
    const changes = await writeOutput(io, { ...target, resources, signal });
    return { hasFailed, changes };
  });
}

function isImperative({ image, exec, function: type }: RunOptions): boolean {
  return image !== undefined || exec !== undefined || type !== undefined;
}

function checkOptions(options: RunOptions): void {
  const { image, exec, function: type, arguments: args } = options;
  if ([image, exec, type].filter((one) => one !== undefined).length > 1) {
    throw new KrmhubError('usage', 'must not specify more than one of --image, --exec, and --function');
  }
  if (args.length > 0 && !isImperative(options)) {
    throw new KrmhubError('usage', 'function arguments require --image, --exec, or --function', {
      hint: 'Functions that the package declares have their configuration in its files.',
    });
  }
}

async function imperativeStep(
  { functions, settings }: FnSession,
  { image, exec, function: type, arguments: args }: RunOptions,
  folder: string,
): Promise<ScopedStep> {
  const given = readConfigArguments(args);
  const more = { type: 'mutator', isSelective: false, scope: '', allowEmpty: settings.allowEmpty } as const;
  if (type !== undefined) {
    const named = await namedType(type, () => functions.listTypes());
    const runnable = await functions.ofType({ ...named, catalogs: [] }, folder);
    return { ...runnable, ...more, functionConfig: typedConfigText(named, given.values, runnable) };
  }
  const runnable =
    image === undefined ? functions.exec(exec!) : await functions.image({ image, asWritten: true });
  return { ...runnable, ...more, functionConfig: configMapText(given) };
}

async function declaredSteps(
  io: Io,
  session: FnSession,
  { configs, isGlobal }: RunOptions,
  { resources, folder }: Package,
): Promise<ScopedStep[]> {
  const given: { config: Resource; folder: string; isGlobal: boolean }[] = [];
  if (configs.length === 0) {
    const placed = runOrder(
      resources.map((config) => ({ path: config.path, index: config.index ?? 0, config })),
    );
    for (const { config } of placed) given.push({ config, folder, isGlobal });
  }
  for (const name of configs) {
    const other = await readConfigs(path.resolve(io.cwd, name));
    for (const config of other.resources) given.push({ config, folder: other.folder, isGlobal: true });
  }
  let isFirst = true;
  const planned = await planAll(given, async (one) => {
    const step = await declaredStep(session, { ...one, isFirst });
    isFirst &&= step === undefined;
    return step;
  });
  const steps = planned.flatMap((step) => step ?? []);
  if (steps.length === 0) {
    session.progress.print('no function is declared: nothing to run');
  }
  return steps;
}

/** The functionConfigs of a folder, or of one file. */
async function readConfigs(target: string): Promise<{ folder: string; resources: readonly Resource[] }> {
  const status = await stat(target).catch((error: unknown) => {
    throw diskError(error, `cannot read ${target}`);
  });
  if (status.isDirectory()) return readPackage(target);
  const bytes = await readFileUpTo({ cwd: '/' }, target);
  const name = path.basename(target);
  return {
    folder: path.dirname(target),
    resources: readResources(decodeText(bytes, name, { isFile: true }), { path: name }),
  };
}

async function declaredStep(
  session: FnSession,
  {
    config,
    folder,
    isGlobal,
    isFirst,
  }: { config: Resource; folder: string; isGlobal: boolean; isFirst: boolean },
): Promise<ScopedStep | undefined> {
  const where = `${config.path}: ${config.identity.kind} ${config.identity.name}`;
  const own = path.join(folder, path.dirname(config.path));
  const { runtime, deferFailure } = readDeclared(config, where);
  let runnable: Runnable;
  if (runtime !== undefined) runnable = await declaredFunction(session, runtime, { where, folder, own });
  else {
    const { apiVersion, kind } = config.identity;
    if (!apiVersion.includes('/') || !(await session.functions.hasType(apiVersion, kind))) return undefined;
    const written = { functionConfig: config.text(), file: path.join(folder, config.path) };
    // The functions before can change it.
    runnable = await session.functions.ofType(
      { apiVersion, kind, catalogs: [], range: writtenRange(config) },
      own,
      isFirst ? written : undefined,
    );
  }
  const scope = isGlobal ? '' : functionScope(config);
  return {
    ...runnable,
    type: 'mutator',
    scope,
    isSelective: scope !== '',
    allowEmpty: session.settings.allowEmpty,
    functionConfig: config.text(),
    configFile: path.join(folder, config.path),
    deferFailure,
    ...defined({ select: scope === '' ? undefined : (resource: Resource) => isInScope(resource, scope) }),
  };
}

/** The runtime that a resource names, if it is a functionConfig. Only what may be one is parsed. */
function readDeclared(config: Resource, where: string): ReturnType<typeof requireRuntime> {
  const { annotations } = config.identity;
  const value = () => config.value() as JsonObject;
  const text = config.body.compactText();
  const isMarked = RUNTIME_ANNOTATIONS.some((name) => Object.hasOwn(annotations, name));
  if (isMarked || text.includes('configFn')) return requireRuntime(value(), where);
  return text.includes('runtime') ? readRuntimeField(value()) : { deferFailure: false };
}

/** A resource that a function added without a path is put into the folder of the function, as in kyaml. */
function placeGenerated(
  scope: string,
  after: readonly Resource[],
  before: readonly Resource[],
): readonly Resource[] {
  if (scope === '') return after;
  const known = new Set(before.map((resource) => resource.path));
  return after.map((resource) => {
    if (known.has(resource.path) || isInScope(resource, scope)) return resource;
    return resource.path === defaultPath(resource.identity)
      ? resource.at({ path: `${scope}/${resource.path}` })
      : resource;
  });
}

/** The file that the engine gives to a resource without a path. */
function defaultPath({ namespace, kind, name }: Resource['identity']): string {
  return path.posix.join(namespace, `${kind.toLowerCase()}_${name}.yaml`);
}
