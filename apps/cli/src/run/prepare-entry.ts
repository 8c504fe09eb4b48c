import { constants } from 'node:fs';
import { access, mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import type { PinnedContainer, PinnedExec, PinnedPlatform, PinnedStarlark } from '@krmhub/catalog';
import { isPinned } from '@krmhub/consume/resolve/resolution';
import {
  type Engine,
  installExecutable,
  type RunLimits,
  runContainer,
  runExecutable,
  type Sandbox,
  type StarlarkRun,
} from '@krmhub/functions';
import { FUNCTION_ENVIRONMENT } from '@krmhub/functions/limits';
import { defined } from '@krmhub/schema/defined';
import { byType } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { childEnvironment } from '../io/child-environment.js';
import type { Io } from '../io/io.js';
import { functionEnvironment } from './function-environment.js';
import { containerAccess, type RunPermissions, requireExecAllowed } from './permissions.js';
import { executableFor, hostPlatform } from './platform.js';
import type { PreparedFunction, Run, RunnableFunction, RunnerOptions } from './prepared-function.js';
import { requireImage } from './pull-image.js';
import { storedExecutable, storeExecutable } from './stored-executables.js';

/**
 * Variables with folders and files of the user's keys, tokens, and temporary files, which can be outside of the home
 * folder. KUBECONFIG, which can have several, is another one.
 */
const SECRET_PLACES = [
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'DOCKER_CONFIG',
  'GNUPGHOME',
  'KRMHUB_DATA',
  'KRMHUB_CACHE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'REGISTRY_AUTH_FILE',
  'NETRC',
  'CLOUDSDK_CONFIG',
  'AZURE_CONFIG_DIR',
  'TMPDIR',
];

/** What a runner gives to the functions of catalogs. */
export interface EntryContext {
  io: Io;
  permissions: RunPermissions;
  options: RunnerOptions;
  limits: RunLimits;
  engine(): Promise<Engine>;
  sandbox(): Promise<Sandbox | undefined>;
  /** A private folder for copies of executables. */
  folder(): Promise<string>;
  script(script: StarlarkRun): Run;
}

/** A function, for messages and fetches. */
interface Entry {
  /** `APIVERSION KIND`. */
  name: string;
  /** Reference of its catalog. */
  catalog: string | undefined;
  executable: RunnableFunction['executable'];
}

/** Prepares a function of a catalog: see `Runner.entry`. */
export async function prepareEntry(
  context: EntryContext,
  { apiVersion, kind, runtime, catalog, executable }: RunnableFunction,
): Promise<PreparedFunction> {
  const entry = { name: `${apiVersion} ${kind}`, catalog: catalog?.reference, executable };
  if (!isPinned(runtime)) {
    throw new KrmhubError(
      'unsupported',
      `cannot run ${entry.name}: its functionConfig has its own runtime without a digest`,
      {
        hint: 'Run it with kustomize or kpt, or remove the runtime to use a catalog.',
      },
    );
  }
  return byType(runtime, {
    container: (container) => prepareContainer(context, entry, container),
    exec: (exec) => prepareExec(context, entry, exec),
    starlark: (script) => prepareStarlark(context, entry, script),
  });
}

async function prepareContainer(
  { io, permissions, options, limits, engine: findEngine }: EntryContext,
  { name }: Entry,
  { image, network, storage }: PinnedContainer,
): Promise<PreparedFunction> {
  const { offline = false, signal, tools = {} } = options;
  const allowed = containerAccess(name, { network, storage }, permissions);
  const known = await ifProgram(tools.engine);
  const engine = known === undefined ? await findEngine() : { ...known, engineEnv: childEnvironment(io) };
  if (known === undefined) await requireImage(io, engine, { name, image, offline, signal });
  const { network: hasNetwork, mounts, notes } = allowed;
  const container = { ...engine, image, network: hasNetwork, mounts, env: FUNCTION_ENVIRONMENT };
  return {
    run: (input, { signal } = {}) => runContainer(container, input, limits, signal),
    annotation: () => ({ container: { image, ...defined({ network: hasNetwork ? true : undefined }) } }),
    notes,
    tools: { engine: { engine: engine.engine, program: engine.program } },
    store: async () => undefined,
  };
}

async function prepareExec(
  context: EntryContext,
  entry: Entry,
  { platforms }: PinnedExec,
): Promise<PreparedFunction> {
  const { io, permissions, limits } = context;
  const { name, executable: known } = entry;
  requireExecAllowed(name, permissions);
  const platform = executableFor(name, platforms);
  const sandbox = await usedSandbox(context);
  const stored = known?.platform === hostPlatform() ? await storedExecutable(io, known) : undefined;
  const { file, sha256 } = stored ?? (await install(context, entry, platform));
  const executable = { digest: sha256, bin: path.basename(file), platform: hostPlatform() };
  const env = functionEnvironment(io);
  // Catalogs cannot declare that an executable needs the network.
  const secrets = SECRET_PLACES.map((variable) => io.env[variable] ?? '')
    .concat((io.env.KUBECONFIG ?? '').split(path.delimiter))
    .filter((place) => place !== '')
    .map((place) => path.resolve(io.cwd, place));
  const run = { file, sha256, env, network: false, secrets, ...defined({ sandbox }) };
  return {
    run: (input, { folder: cwd = io.cwd, signal } = {}) =>
      runExecutable({ ...run, cwd }, input, limits, signal),
    annotation: () => ({ exec: { path: file } }),
    notes: [],
    tools: sandbox === undefined ? {} : { sandbox },
    executable,
    store: async () => {
      if (stored === undefined) await storeExecutable(io, file, executable);
    },
  };
}

/** A script has access to its input only, so it needs no permission. */
async function prepareStarlark(
  { io, options: { offline = false }, script: runScript }: EntryContext,
  { name, catalog }: Entry,
  runtime: PinnedStarlark,
): Promise<PreparedFunction> {
  const { fetchScript } = await import('./fetch-script.js');
  const { file, ...script } = await fetchScript(io, { name, runtime, catalog, offline });
  return {
    run: runScript(script),
    annotation: () => ({ starlark: { path: file } }),
    notes: [],
    tools: {},
    store: async () => undefined,
  };
}

/** Fetches and unpacks an executable into a folder of its own, which is removed when the runner is closed. */
async function install(
  { io, options: { offline = false }, folder }: EntryContext,
  { name, catalog }: Entry,
  platform: PinnedPlatform,
): Promise<{ file: string; sha256: Digest }> {
  const { fetchExecutable } = await import('./fetch-executable.js');
  const source = await fetchExecutable(io, { name, platform, catalog, offline });
  const own = await mkdtemp(path.join(await folder(), 'function-'));
  return installExecutable({ ...source, bin: platform.bin }, own).catch((error: unknown) => {
    if (!(error instanceof KrmhubError)) throw error;
    const { code, hint } = error;
    throw new KrmhubError(code, `cannot run ${name}: ${error.message}`, {
      ...defined({ hint }),
      cause: error,
    });
  });
}

/** Plugins of earlier versions have no filter of system calls. */
async function usedSandbox({ options: { tools }, sandbox }: EntryContext): Promise<Sandbox | undefined> {
  const known = await ifProgram(tools?.sandbox);
  return known?.filtersCalls === undefined ? sandbox() : known;
}

/** Returns a tool if its program is still installed. */
async function ifProgram<Tool extends { program: string }>(
  tool: Tool | undefined,
): Promise<Tool | undefined> {
  if (tool === undefined) return undefined;
  return access(tool.program, constants.X_OK).then(
    () => tool,
    () => undefined,
  );
}
