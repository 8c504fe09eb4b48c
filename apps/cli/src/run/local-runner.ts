import { constants } from 'node:fs';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PinnedContainer, PinnedExec, PinnedPlatform, PinnedStarlark } from '@krmhub/catalog';
import {
  DEFAULT_RUN_LIMITS,
  type Engine,
  findEngine,
  findSandbox,
  installExecutable,
  type RunLimits,
  runContainer,
  runExecutable,
  type Sandbox,
} from '@krmhub/functions';
import { watchFolder } from '@krmhub/functions/process/parent-watch';
import type { StarlarkSession } from '@krmhub/functions/starlark/starlark-session';
import { defined } from '@krmhub/schema/defined';
import { byType } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { childEnvironment } from '../io/child-environment.js';
import type { Io } from '../io/io.js';
import { isPinned } from '../resolve/resolution.js';
import { functionEnvironment } from './function-environment.js';
import { containerAccess, requireExecAllowed } from './permissions.js';
import { executableFor, hostPlatform } from './platform.js';
import { requireImage } from './pull-image.js';
import type {
  InstalledExecutable,
  KnownTools,
  PreparedFunction,
  RunnableFunction,
  Runner,
  RunnerOptions,
  RunPermissions,
} from './runner.js';
import { storedExecutable, storeExecutable } from './stored-executables.js';

/** As kustomize sets them, for every container (kyaml, `NewContainerEnv`). */
const CONTAINER_ENVIRONMENT = { LOG_TO_STDERR: 'true', STRUCTURED_RESULTS: 'true' };

/** Variables with folders of the user's keys, tokens, and temporary files, which can be outside of the home folder. */
const SECRET_FOLDERS = [
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'DOCKER_CONFIG',
  'GNUPGHOME',
  'KRMHUB_DATA',
  'CLOUDSDK_CONFIG',
  'AZURE_CONFIG_DIR',
  'TMPDIR',
];

/** Runs functions on this machine. Engine and sandbox are looked for when the first function needs them. */
export class LocalRunner implements Runner {
  readonly #io: Io;
  readonly #permissions: RunPermissions;
  readonly #known: KnownTools;
  readonly #offline: boolean;
  readonly #acceptDocuments: boolean;
  readonly #measuresMemory: boolean;
  readonly #temporaryFolder: string;
  readonly #signal: AbortSignal | undefined;
  #engine: Promise<Engine> | undefined;
  #sandbox: Promise<Sandbox | undefined> | undefined;
  /** Folder for copies of executables, in which only this user can write. */
  #folder: Promise<string> | undefined;
  #endWatch: () => void = () => undefined;
  #scripts: StarlarkSession | undefined;

  constructor(io: Io, permissions: RunPermissions, options: RunnerOptions = {}) {
    const { acceptDocuments = false, measuresMemory = false, offline = false } = options;
    const { temporaryFolder, signal, tools = {} } = options;
    this.#io = io;
    this.#permissions = permissions;
    this.#known = tools;
    this.#offline = offline;
    this.#acceptDocuments = acceptDocuments;
    this.#measuresMemory = measuresMemory;
    this.#signal = signal;
    this.#temporaryFolder = temporaryFolder ?? io.env.TMPDIR ?? tmpdir();
  }

  async prepare({
    apiVersion,
    kind,
    runtime,
    catalog,
    executable,
  }: RunnableFunction): Promise<PreparedFunction> {
    const name = `${apiVersion} ${kind}`;
    if (!isPinned(runtime)) {
      throw new KrmhubError(
        'unsupported',
        `cannot run ${name}: its functionConfig has its own runtime without a digest`,
        {
          hint: 'Run it with kustomize or kpt, or remove the runtime to use a catalog.',
        },
      );
    }
    const from = catalog?.reference;
    return byType(runtime, {
      container: (container) => this.#prepareContainer(name, container),
      exec: (exec) => this.#prepareExec(name, exec, from, executable),
      starlark: (script) => this.#prepareStarlark(name, script, from),
    });
  }

  async close(): Promise<void> {
    this.#scripts?.close();
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    this.#endWatch();
  }

  get #limits(): RunLimits {
    const { timeoutSeconds } = this.#permissions;
    const limits = {
      ...DEFAULT_RUN_LIMITS,
      acceptDocuments: this.#acceptDocuments,
      measuresMemory: this.#measuresMemory,
    };
    return timeoutSeconds === undefined ? limits : { ...limits, timeout: timeoutSeconds * 1_000 };
  }

  async #prepareContainer(
    name: string,
    { image, network, storage }: PinnedContainer,
  ): Promise<PreparedFunction> {
    const allowed = containerAccess(name, { network, storage }, this.#permissions);
    const known = await ifProgram(this.#known.engine);
    const engine =
      known === undefined ? await this.#findEngine() : { ...known, engineEnv: childEnvironment(this.#io) };
    if (known === undefined) {
      await requireImage(this.#io, engine, { name, image, offline: this.#offline, signal: this.#signal });
    }
    const { network: hasNetwork, mounts } = allowed;
    const container = { ...engine, image, network: hasNetwork, mounts, env: CONTAINER_ENVIRONMENT };
    return {
      run: (input, { signal } = {}) => runContainer(container, input, this.#limits, signal),
      annotation: () => ({ container: { image, ...defined({ network: hasNetwork ? true : undefined }) } }),
      notes: allowed.notes,
      tools: { engine: { engine: engine.engine, program: engine.program } },
      store: async () => undefined,
    };
  }

  #findEngine(): Promise<Engine> {
    const { engine } = this.#permissions;
    this.#engine ??= findEngine({
      env: childEnvironment(this.#io),
      ...defined({ engine, signal: this.#signal }),
    });
    return this.#engine;
  }

  async #prepareExec(
    name: string,
    { platforms }: PinnedExec,
    catalog: string | undefined,
    known: InstalledExecutable | undefined,
  ): Promise<PreparedFunction> {
    requireExecAllowed(name, this.#permissions);
    const platform = executableFor(name, platforms);
    const sandbox = await this.#findSandbox();
    const stored = known?.platform === hostPlatform() ? await storedExecutable(this.#io, known) : undefined;
    const { file, sha256 } = stored ?? (await this.#install(name, platform, catalog));
    const executable = { digest: sha256, bin: path.basename(file), platform: hostPlatform() };
    const env = functionEnvironment(this.#io);
    // Catalogs cannot declare that an executable needs the network.
    const secrets = SECRET_FOLDERS.map((variable) => this.#io.env[variable] ?? '');
    const run = { file, sha256, env, network: false, secrets, ...defined({ sandbox }) };
    return {
      run: (input, { folder: cwd = this.#io.cwd, signal } = {}) =>
        runExecutable({ ...run, cwd }, input, this.#limits, signal),
      annotation: () => ({ exec: { path: file } }),
      notes: [],
      tools: sandbox === undefined ? {} : { sandbox },
      executable,
      store: async () => {
        if (stored === undefined) await storeExecutable(this.#io, file, executable);
      },
    };
  }

  /** A script has access to its input only, so it needs no permission. */
  async #prepareStarlark(
    name: string,
    runtime: PinnedStarlark,
    catalog: string | undefined,
  ): Promise<PreparedFunction> {
    const { fetchScript } = await import('./fetch-script.js');
    const { file, ...script } = await fetchScript(this.#io, {
      name,
      runtime,
      catalog,
      offline: this.#offline,
    });
    return {
      run: async (input, { signal } = {}) => {
        const { StarlarkSession } = await import('@krmhub/functions/starlark/starlark-session');
        this.#scripts ??= new StarlarkSession();
        return this.#scripts.run(script, input, this.#limits, signal);
      },
      annotation: () => ({ starlark: { path: file } }),
      notes: [],
      tools: {},
      store: async () => undefined,
    };
  }

  /** Fetches and unpacks an executable into a folder of its own, which is removed when the runner is closed. */
  async #install(
    name: string,
    platform: PinnedPlatform,
    catalog: string | undefined,
  ): Promise<{ file: string; sha256: Digest }> {
    const { fetchExecutable } = await import('./fetch-executable.js');
    const source = await fetchExecutable(this.#io, { name, platform, catalog, offline: this.#offline });
    this.#folder ??= mkdtemp(path.join(this.#temporaryFolder, 'krmhub-run-')).then((folder) => {
      this.#endWatch = watchFolder(folder);
      return folder;
    });
    const own = await mkdtemp(path.join(await this.#folder, 'function-'));
    return installExecutable({ ...source, bin: platform.bin }, own).catch((error: unknown) => {
      if (!(error instanceof KrmhubError)) throw error;
      const { code, hint } = error;
      throw new KrmhubError(code, `cannot run ${name}: ${error.message}`, {
        ...defined({ hint }),
        cause: error,
      });
    });
  }

  async #findSandbox(): Promise<Sandbox | undefined> {
    this.#sandbox ??= ifProgram(this.#known.sandbox).then(async (known) => {
      // Plugins of earlier versions have no filter of system calls.
      if (known?.filtersCalls !== undefined) return known;
      const found = await findSandbox(childEnvironment(this.#io));
      return found.ok ? found.sandbox : undefined;
    });
    return this.#sandbox;
  }
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
