/**
 * Runs functions on this machine: those of catalogs, and the images, executables, and scripts that a user or a package
 * names.
 *
 * A runner decides the container engine, the sandbox, the limits, the environment, and the process of scripts. It looks
 * for each of them when the first function needs it, and removes all that is temporary when it is closed.
 *
 * @module
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { imageRepository } from '@krmhub/consume/resolve/images/named-image';
import type { Engine, RunResult, Sandbox, StarlarkRun } from '@krmhub/functions';
import { runInPlace } from '@krmhub/functions/executables/run-in-place';
import { DEFAULT_RUN_LIMITS, type RunLimits } from '@krmhub/functions/limits';
import type { InlineScript } from '@krmhub/functions/plan/declared-runtime';
import { findProgram } from '@krmhub/functions/process/find-program';
import type { StarlarkSession } from '@krmhub/functions/starlark/starlark-session';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { childEnvironment } from '../io/child-environment.js';
import type { Io } from '../io/io.js';
import type { RunPermissions } from './permissions.js';
import type {
  NamedRun,
  PreparedFunction,
  Run,
  RunnableFunction,
  RunnerOptions,
} from './prepared-function.js';
import type { NamedImage } from './run-image.js';

/** Prepares and runs functions. Preparing one runs nothing of it. */
export class Runner {
  readonly #io: Io;
  readonly #permissions: RunPermissions;
  readonly #options: RunnerOptions;
  readonly #prepared = new Map<string, Promise<PreparedFunction>>();
  #engine: Promise<Engine> | undefined;
  #sandbox: Promise<Sandbox | undefined> | undefined;
  /** Folder for copies of executables, in which only this user can write. */
  #folder: Promise<string> | undefined;
  #endWatch: () => void = () => undefined;
  #scripts: StarlarkSession | undefined;

  constructor(io: Io, permissions: RunPermissions, options: RunnerOptions = {}) {
    this.#io = io;
    this.#permissions = permissions;
    this.#options = options;
  }

  /**
   * Prepares a function of a catalog, once: pulls the image by its digest, or fetches, verifies and unpacks the
   * executable. A container gets only the access that its catalog declares and the user allows; an executable gets no
   * network. Throws `untrusted` for what the user does not allow, with the option; `unsupported` for inline runtimes and
   * missing platforms; `digest-mismatch`.
   */
  entry(fn: RunnableFunction): Promise<PreparedFunction> {
    const { apiVersion, kind, catalog, runtime, executable } = fn;
    const key = JSON.stringify([apiVersion, kind, catalog?.reference, runtime, executable]);
    const context = {
      io: this.#io,
      permissions: this.#permissions,
      options: this.#options,
      limits: this.#limits('catalog'),
      engine: () => this.#findEngine(),
      sandbox: () => this.#findSandbox(),
      folder: () => this.#makeFolder(),
      script: (script: StarlarkRun): Run => this.#script(async () => script, 'catalog'),
    };
    const prepare = async () => {
      const { prepareEntry } = await import('./prepare-entry.js');
      const prepared = await prepareEntry(context, fn);
      const named = { name: `${apiVersion} ${kind}`, exact: key };
      return { ...prepared, run: this.#reported(named, prepared.run) };
    };
    const preparing = this.#prepared.get(key) ?? prepare();
    this.#prepared.set(key, preparing);
    return preparing;
  }

  /** An image, with or without a digest. */
  image(image: NamedImage): Run {
    const named = { name: imageRepository(image.image), exact: image.image };
    return this.#reported(named, async (input, { signal } = {}) => {
      const engine = await this.#findEngine();
      const { runImage } = await import('./run-image.js');
      return runImage(this.#io, engine, image, input, this.#limits('named'), signal);
    });
  }

  /** An executable of this machine. It gets the environment of the user, as in kpt and kustomize. */
  exec({ words: [program, ...args], folder, missing }: NamedProgram): Run {
    const named = { name: [program, ...args].join(' '), exact: `${folder} ${program}` };
    return this.#reported(named, async (input, { signal } = {}) => {
      // As Go finds a program: a path is relative to the working directory, a name is on PATH.
      const file = program.includes('/')
        ? path.resolve(folder, program)
        : await findProgram(program, this.#io.env);
      if (file === undefined) throw new KrmhubError('not-found', missing.message, { hint: missing.hint });
      const run = { file, args, cwd: folder, env: childEnvironment(this.#io) };
      return runInPlace(run, input, this.#limits('named'), signal);
    });
  }

  /** A script that a functionConfig names, relative to `folder`. */
  script(runtime: InlineScript, folder: string): Run {
    const { path: name = runtime.url ?? runtime.name ?? 'script' } = runtime;
    const run = this.#script(async () => {
      const { inlineScript } = await import('./inline-script.js');
      return inlineScript(this.#io, runtime, folder);
    }, 'named');
    return this.#reported({ name, exact: `${folder} ${name}` }, run);
  }

  /** A script whose text is given. */
  source(script: StarlarkRun): Run {
    return this.#script(async () => script, 'named');
  }

  /** Ends the process of scripts, and removes the copies of executables. */
  async close(): Promise<void> {
    this.#scripts?.close();
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    this.#endWatch();
  }

  #reported(fn: NamedRun, run: Run): Run {
    const { onRun } = this.#options;
    if (onRun === undefined) return run;
    return async (input, options) => {
      let result: RunResult | undefined;
      try {
        result = await run(input, options);
        return result;
      } finally {
        onRun(fn, input, result);
      }
    };
  }

  #limits(which: 'catalog' | 'named'): RunLimits {
    const { timeoutSeconds } = this.#permissions;
    const { acceptDocuments, measuresMemory = false } = this.#options;
    return {
      ...DEFAULT_RUN_LIMITS,
      acceptDocuments: acceptDocuments === 'all' || acceptDocuments === which,
      measuresMemory,
      ...defined({ timeout: timeoutSeconds === undefined ? undefined : timeoutSeconds * 1_000 }),
    };
  }

  #script(load: () => Promise<StarlarkRun>, which: 'catalog' | 'named'): Run {
    return async (input, { signal } = {}) => {
      const script = await load();
      const { StarlarkSession } = await import('@krmhub/functions/starlark/starlark-session');
      this.#scripts ??= new StarlarkSession();
      return this.#scripts.run(script, input, this.#limits(which), signal);
    };
  }

  #findEngine(): Promise<Engine> {
    const { signal, preferredEngine } = this.#options;
    this.#engine ??= import('@krmhub/functions/containers/find-engine').then(({ findEngine }) => {
      const engine = this.#permissions.engine ?? preferredEngine?.();
      return findEngine({ env: childEnvironment(this.#io), ...defined({ engine, signal }) });
    });
    return this.#engine;
  }

  #findSandbox(): Promise<Sandbox | undefined> {
    this.#sandbox ??= import('@krmhub/functions/sandbox/bubblewrap').then(async ({ findSandbox }) => {
      const found = await findSandbox(childEnvironment(this.#io));
      return found.ok ? found.sandbox : undefined;
    });
    return this.#sandbox;
  }

  async #makeFolder(): Promise<string> {
    const { watchFolder } = await import('@krmhub/functions/process/parent-watch');
    const parent = this.#options.temporaryFolder ?? this.#io.env.TMPDIR ?? tmpdir();
    this.#folder ??= mkdtemp(path.join(parent, 'krmhub-run-')).then((folder) => {
      this.#endWatch = watchFolder(folder);
      return folder;
    });
    return this.#folder;
  }
}

/** An executable that the user, a package, or a functionConfig names. */
export interface NamedProgram {
  /** Program and arguments. */
  words: readonly [string, ...string[]];
  /** Working directory; a path of the program is relative to it. */
  folder: string;
  /** What is said of a name that is not on PATH. */
  missing: { message: string; hint: string };
}
