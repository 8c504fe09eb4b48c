import type { Resolution } from '@krmhub/consume/resolve/resolution';
import type { Engine, EngineName, RunResult, Sandbox } from '@krmhub/functions';
import type { Digest } from '@krmhub/schema/digest';

/** Runs a function with a ResourceList. One that fails gives its exit code; one that cannot run throws. */
export type Run = (input: Uint8Array, options?: RunOptions) => Promise<RunResult>;

/** What a runner has to know of a function. */
export type RunnableFunction = Pick<Resolution, 'apiVersion' | 'kind' | 'runtime'> &
  Partial<Pick<Resolution, 'catalog'>> & {
    /** What was installed for this runtime before. */
    executable?: InstalledExecutable;
  };

export interface PreparedFunction {
  run: Run;
  /** The function annotation with which kustomize runs the same. Valid until the runner is closed. */
  annotation(): FunctionAnnotation;
  /** What was found on this machine for it. */
  tools: KnownTools;
  /** Absent for containers. */
  executable?: InstalledExecutable;
  /** Stores the unpacked executable in the cache, for later runs without installation. */
  store(): Promise<void>;
  /** Why the function has less access than the user allowed: for messages about a function that failed. */
  notes: readonly string[];
}

export interface RunOptions {
  /** Working directory of an executable of a catalog. Default: that of the command. */
  folder?: string;
  signal?: AbortSignal | undefined;
}

/**
 * Value of `config.kubernetes.io/function`. kustomize takes mounts from its own options only, and runs no scripts since
 * 5.5.
 */
export type FunctionAnnotation =
  | { container: { image: string; network?: true } }
  | { exec: { path: string } }
  | { starlark: { path: string } };

export interface RunnerOptions {
  /**
   * Which functions may write YAML documents without a ResourceList: all, as in kpt, or those that are not of a catalog,
   * as in kustomize. Default: none.
   */
  acceptDocuments?: 'all' | 'named';
  /** Returns the engine to use if the permissions name none. Default: the first that runs. */
  preferredEngine?: () => EngineName | undefined;
  /** Results say how much memory a function used, where that can be known. Default: no. */
  measuresMemory?: boolean;
  /** Fetch nothing: what is not on this machine is `unavailable`. */
  offline?: boolean;
  /** Ends what looks for an engine or pulls an image. */
  signal?: AbortSignal;
  /** Where the private folder of executables is made. Default: the one of the system. */
  temporaryFolder?: string;
  tools?: KnownTools;
  /** Gets each run that ended; without a result, one of a function that could not run, or whose output is invalid. */
  onRun?: (fn: NamedRun, input: Uint8Array, result?: RunResult) => void;
}

/** A function that ran, for reports. */
export interface NamedRun {
  /** The same for all its releases: `APIVERSION KIND`, or a repository of images, or a program. */
  name: string;
  /** What exactly ran. */
  exact: string;
}

/** What an earlier run found on this machine, to save the time to find it again. */
export interface KnownTools {
  /** It has pulled the image. */
  engine?: Pick<Engine, 'engine' | 'program'>;
  sandbox?: Sandbox;
}

/** An unpacked executable; `PreparedFunction.store` puts it into the cache. */
export interface InstalledExecutable {
  /** Of the file that runs, which differs from that of its archive. */
  digest: Digest;
  /** File name. */
  bin: string;
  /** For example `linux/amd64`. */
  platform: string;
}
