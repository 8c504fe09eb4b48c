import path from 'node:path';
import { type Resource, selectedIdentity } from '@krmhub/functions/fn';
import {
  cleanPath,
  configMapText,
  fileMatcher,
  KPTFILE,
  type PipelineFunction,
  type ResourceReference,
  resourceFilter,
} from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import type { JsonObject } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { requirePackageExec } from '../exec-function.js';
import type { FnSession } from '../fn-session.js';
import { writtenRange } from '../functions.js';
import type { FnStep } from '../progress.js';
import type { Runnable } from '../runnable.js';
import { fileInRoot, type PlannedPackage } from './planned-package.js';

/**
 * Makes a step of a pipeline ready to run. Throws if its function cannot be found, or may not run. `isFixed`: no other
 * function can change its functionConfig, so that is checked before anything is fetched.
 */
export async function planStep(
  fn: PipelineFunction,
  owner: PlannedPackage,
  { root, isFixed }: { root: string; isFixed: boolean },
  session: FnSession,
): Promise<FnStep> {
  const { settings } = session;
  const config = findConfig(fn, owner.resources, owner.display);
  const folder = path.join(root, owner.node.path);
  const runnable = await findFunction(fn, { config, owner, folder, isFixed }, session);
  const { when, name } = fn;
  return {
    ...runnable,
    recorded: {
      ...runnable.recorded,
      ...defined({ step: name, when }),
    },
    type: fn.field === 'mutators' ? 'mutator' : 'validator',
    isSelective: fn.selectors.length > 0 || fn.exclude.length > 0 || fn.resourceFileRegexp !== undefined,
    allowEmpty: settings.allowEmpty,
    ...selection(fn, owner, path.basename(root)),
    ...defined({ condition: when === undefined ? undefined : compileCondition(fn, when) }),
    ...functionConfig(fn, owner.display, config),
    ...defined({ configFile: config === undefined ? undefined : path.join(folder, config.path) }),
  };
}

async function findFunction(
  fn: PipelineFunction,
  {
    config,
    owner: { kptfile, display },
    folder,
    isFixed,
  }: { config: Resource | undefined; owner: PlannedPackage; folder: string; isFixed: boolean },
  session: FnSession,
): Promise<Runnable> {
  const { functions, settings, progress } = session;
  const { image, exec, tag } = fn;
  if (image !== undefined) {
    const runnable = await functions.image({ image, tag, catalogs: kptfile.catalogs });
    if (config !== undefined && tag === undefined) await functions.checkSynced(image, config.identity);
    return runnable;
  }
  if (tag !== undefined) {
    const at = `${path.posix.join(display, KPTFILE)}: pipeline.${fn.field}[${fn.index}]`;
    progress.print(escapeControls(`warning: ${at}: \`tag\` has no effect in a step without \`image\``));
  }
  if (exec !== undefined) {
    requirePackageExec(settings, exec);
    return functions.exec(exec);
  }
  if (config === undefined) throw notFound(fn.configRef!, 0);
  const { apiVersion, kind } = config.identity;
  const catalogs = kptfile.catalogs.map((text) => ({ text, folder }));
  const written = isFixed
    ? { functionConfig: config.text(), file: path.join(folder, config.path) }
    : undefined;
  return (
    (await namedByConfig(config, session, folder)) ??
    functions.ofType({ apiVersion, kind, catalogs, range: writtenRange(config) }, folder, written)
  );
}

/** The function that a functionConfig names in the field `runtime` of KEP-2906, which comes before all catalogs. */
async function namedByConfig(
  config: Resource,
  session: FnSession,
  folder: string,
): Promise<Runnable | undefined> {
  // Few have one, and reading it loads a library.
  if (!config.body.compactText().includes('runtime')) return undefined;
  const { readRuntimeField } = await import('@krmhub/functions/plan/declared-runtime');
  const { runtime } = readRuntimeField(config.value() as JsonObject);
  if (runtime === undefined) return undefined;
  const { declaredFunction } = await import('../declared-function.js');
  return declaredFunction(session, runtime, { where: config.path, folder, own: folder });
}

/** What a step gets. Its own functionConfig is not among the items, but other steps can change that file. */
function selection(fn: PipelineFunction, { display }: PlannedPackage, base: string): Pick<FnStep, 'select'> {
  const { selectors, exclude, resourceFileRegexp, configPath } = fn;
  const filter = resourceFilter(selectors, exclude);
  const isFile = resourceFileRegexp === undefined ? undefined : fileMatcher(resourceFileRegexp);
  if (filter === undefined && isFile === undefined && configPath === undefined) return {};
  return {
    select: (resource) => {
      if (configPath !== undefined && isAt(resource, display, configPath)) return false;
      const file = fileInRoot(resource, base);
      return (isFile?.(file) ?? true) && (filter?.(selectedIdentity(resource), file) ?? true);
    },
  };
}

function compileCondition(
  { field, index }: PipelineFunction,
  when: string,
): NonNullable<FnStep['condition']> {
  return async (selected) => {
    const { evaluateCondition } = await import('@krmhub/schema/cel/expression');
    const outcome = evaluateCondition(when, { resources: selected.map((one) => one.value()) });
    if ('value' in outcome) return outcome.value;
    throw new KrmhubError(
      'invalid-document',
      `cannot evaluate the condition \`${when}\` of pipeline.${field}[${index}]: ${outcome.problem}`,
      /^(?:field not found|no such key)/.test(outcome.problem)
        ? { hint: 'Use has(…) for a field that not every resource has.' }
        : {},
    );
  };
}

/**
 * The functionConfig of a step. A file can be changed by the functions before, and keeps its last content if one
 * deletes it.
 */
function functionConfig(
  fn: PipelineFunction,
  display: string,
  config: Resource | undefined,
): Pick<FnStep, 'functionConfig'> {
  const { configPath, configMap, configRef } = fn;
  if (configMap !== undefined) return { functionConfig: configMapText({ values: configMap }) };
  if (configRef !== undefined) {
    return {
      functionConfig: (resources) => {
        const [found, ...others] = resources.filter((one) => isReferred(one, display, configRef));
        if (found === undefined || others.length > 0) {
          throw notFound(configRef, found === undefined ? 0 : others.length + 1);
        }
        return found.text();
      },
    };
  }
  if (configPath === undefined) return {};
  return { functionConfig: (resources) => (findConfig(fn, resources, display) ?? config)?.text() };
}

/** The functionConfig among resources; undefined if there is none, or not only one. */
function findConfig(
  { configPath, configRef }: PipelineFunction,
  resources: readonly Resource[],
  display: string,
): Resource | undefined {
  if (configPath !== undefined) return resources.find((resource) => isAt(resource, display, configPath));
  if (configRef === undefined) return undefined;
  const found = resources.filter((resource) => isReferred(resource, display, configRef));
  return found.length === 1 ? found[0] : undefined;
}

function isAt(resource: Resource, display: string, configPath: string): boolean {
  return resource.packagePath === display && resource.path === cleanPath(configPath);
}

function isReferred(
  { identity, packagePath }: Resource,
  display: string,
  reference: ResourceReference,
): boolean {
  const { apiVersion, kind, name, namespace } = reference;
  return (
    packagePath === display &&
    identity.kind === kind &&
    identity.name === name &&
    (apiVersion ?? identity.apiVersion) === identity.apiVersion &&
    (namespace ?? identity.namespace) === identity.namespace
  );
}

/** In the words of kpt. */
function notFound({ apiVersion = '', kind, name }: ResourceReference, count: number): KrmhubError {
  const what = `configRef: resource ${apiVersion}/${kind} "${name}"`;
  if (count === 0) return new KrmhubError('invalid-document', `${what} not found in package`);
  return new KrmhubError('invalid-document', `${what} matched ${count} resources, must match exactly one`, {
    hint: 'Add apiVersion or namespace to configRef.',
  });
}
