import path from 'node:path';
import { type Resource, selectedIdentity } from '@krmhub/functions/fn';
import {
  configMapText,
  readConfigArguments,
  resourceFilter,
  type Selector,
  typedConfigText,
} from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { type FnSession, withFunctions } from './fn-session.js';
import { writtenRange } from './functions.js';
import { namedType } from './named-type.js';
import type { FnStep } from './progress.js';
import { readConfigFile } from './read-config-file.js';
import { type FnInput, readInput } from './read-input.js';
import { requireNewFolder } from './require-new-folder.js';
import { runSteps } from './run-steps.js';
import type { Runnable } from './runnable.js';
import { type SavedFunction, saveFunction } from './save-function.js';
import type { FnSettings } from './settings.js';
import { writeOutput } from './write-output.js';

export interface EvalOptions {
  settings: FnSettings;
  image?: string;
  /** A command line. */
  exec?: string;
  /** `GROUP/VERSION/KIND` of a function of a catalog. */
  function?: string;
  /** File of the functionConfig. */
  config?: string;
  /** `[KIND] KEY=VALUE…` */
  arguments: readonly string[];
  match: Selector;
  exclude: Selector;
  /** Adds the function to the Kptfile. */
  save: boolean;
  type: 'mutator' | 'validator';
}

/** Runs one function on the resources of a folder or of stdin, as `kpt fn eval`. */
export async function evalPackage(io: Io, name: string, options: EvalOptions): Promise<void> {
  const { settings, save, type } = options;
  checkOptions(options);
  const config = options.config === undefined ? undefined : await readConfigFile(io, options.config);
  await requireNewFolder(io, settings.output);
  const input = await readInput(io, name, settings);
  const saved = save ? savedFunction(io, options, input) : undefined;
  const folder = input.package?.folder ?? io.cwd;
  await withFunctions(io, settings, { folder, results: 'one', hasGap: true }, async (session) => {
    const configFile = options.config === undefined ? undefined : path.resolve(io.cwd, options.config);
    const given = { config, configFile, input, folder };
    const step = { ...(await planStep(session, options, given)), configFile };
    const { progress, signal } = session;
    const result = await runSteps(input.resources, [step], { progress, signal, settings });
    if (result.error !== undefined) throw result.error;
    if (!result.ok) return { hasFailed: true, changes: [] };
    await progress.flush();
    let { resources } = result;
    if (saved !== undefined) {
      const image = step.recorded.image === undefined ? {} : { image: step.recorded.image };
      const edited = saveFunction(resources, { ...saved, ...image }, type);
      progress.print(edited.message);
      resources = edited.resources;
    }
    const changes = await writeOutput(io, {
      target: settings.output,
      ...defined({ package: input.package }),
      resources,
      format: settings.format,
      isDryRun: settings.isDryRun,
      signal,
    });
    return { hasFailed: false, changes };
  });
}

function checkOptions({
  image,
  exec,
  function: type,
  config,
  arguments: args,
  settings,
  save,
}: EvalOptions): void {
  const named = [image, exec, type].filter((one) => one !== undefined);
  if (named.length === 0 && config === undefined) {
    throw new KrmhubError('usage', 'must specify --image or --exec', {
      hint: 'For a function of a catalog, use --function GROUP/VERSION/KIND, or --fn-config FILE.',
    });
  }
  if (named.length > 1) {
    throw new KrmhubError('usage', 'must not specify more than one of --image, --exec, and --function');
  }
  if (config !== undefined && args.length > 0) {
    throw new KrmhubError('usage', 'function arguments can only be specified without function config file');
  }
  if (type !== undefined && config !== undefined) {
    throw new KrmhubError('usage', '--function cannot be used with --fn-config, which names the function', {
      hint: 'Use --fn-config alone.',
    });
  }
  const { permissions, images } = settings;
  const isContainerOnly =
    permissions.mounts.length > 0 || permissions.network || images.env.length > 0 || images.asCurrentUser;
  if (exec !== undefined && isContainerOnly) {
    throw new KrmhubError(
      'usage',
      '--mount, --as-current-user, --network and --env can only be used with container functions',
    );
  }
  if (save && type !== undefined) {
    throw new KrmhubError(
      'usage',
      'cannot save a function that is named by --function: a Kptfile names it by a file',
      {
        hint: 'Write its functionConfig to a file of the package, and use --fn-config FILE.',
      },
    );
  }
}

interface EvalInput {
  config: Resource | undefined;
  configFile: string | undefined;
  input: FnInput;
  folder: string;
}

async function planStep(session: FnSession, options: EvalOptions, given: EvalInput): Promise<FnStep> {
  const { settings, match, exclude } = options;
  const isSelective = !isNothing(match) || !isNothing(exclude);
  const select = resourceFilter(isNothing(match) ? [] : [match], isNothing(exclude) ? [] : [exclude]);
  const { runnable, text } = await findFunction(session, options, given);
  return {
    ...runnable,
    // kpt keeps the changes of what it would save as a validator.
    type: 'mutator',
    isSelective,
    allowEmpty: settings.allowEmpty,
    ...defined({
      select: select === undefined ? undefined : (resource: Resource) => select(selectedIdentity(resource)),
    }),
    functionConfig: text,
  };
}

async function findFunction(
  { functions }: FnSession,
  { image, exec, function: type, arguments: args }: EvalOptions,
  { config, configFile, input, folder }: EvalInput,
): Promise<{ runnable: Runnable; text: string }> {
  const given = readConfigArguments(args);
  if (type !== undefined) {
    const named = await namedType(type, () => functions.listTypes());
    const runnable = await functions.ofType({ ...named, catalogs: [] }, folder);
    return { runnable, text: typedConfigText(named, given.values, runnable) };
  }
  const text =
    config?.text() ?? (args.length === 0 ? input.functionConfig : undefined) ?? configMapText(given);
  if (image !== undefined) return { runnable: await functions.image({ image, asWritten: true }), text };
  if (exec !== undefined) return { runnable: functions.exec(exec), text };
  const { apiVersion, kind } = config!.identity;
  const written = { functionConfig: text, file: configFile };
  const named = { apiVersion, kind, catalogs: [], range: writtenRange(config!) };
  return { runnable: await functions.ofType(named, folder, written), text };
}

function isNothing({ labels = {}, annotations = {}, ...texts }: Selector): boolean {
  const values = [...Object.values(texts), ...Object.values(labels), ...Object.values(annotations)];
  return values.every((value) => value === undefined);
}

function savedFunction(io: Io, options: EvalOptions, { package: files }: FnInput): SavedFunction {
  const { image, exec, config, arguments: args, match, exclude } = options;
  if (files === undefined) throw new KrmhubError('usage', '--save cannot be used with resources from stdin');
  const file = config === undefined ? undefined : path.relative(files.folder, path.resolve(io.cwd, config));
  if (file !== undefined && (file === '..' || file.startsWith(`..${path.sep}`) || path.isAbsolute(file))) {
    throw new KrmhubError(
      'usage',
      `--fn-config must be under ${files.folder} if saving functions to Kptfile (--save=true)`,
    );
  }
  const { values } = readConfigArguments(args);
  return defined({
    image,
    exec,
    configPath: file?.split(path.sep).join('/'),
    configMap: args.length === 0 ? undefined : values,
    selectors: isNothing(match) ? undefined : [match],
    exclude: isNothing(exclude) ? undefined : [exclude],
  });
}
