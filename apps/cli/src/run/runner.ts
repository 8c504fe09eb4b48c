/**
 * Fetches and verifies what functions run, and runs it on this machine.
 *
 * Preparing a function runs nothing of it. A container gets only the access that its catalog declares and the user
 * allows. An executable gets no network.
 *
 * @module
 */

import type { Engine, EngineName, RunResult, Sandbox } from '@krmhub/functions';
import type { Digest } from '@krmhub/schema/digest';
import type { Resolution } from '../resolve/resolution.js';

/** What the user allows functions to do on this machine. */
export interface RunPermissions {
  /** Run executables. */
  allowExec: boolean;
  /** Network access, for functions whose catalog declares it. */
  network: boolean;
  /** Mounts as in kustomize, for functions whose catalog declares them: `type=bind,source=/folder,target=/folder`. */
  mounts: readonly string[];
  /** Default: the first that runs. */
  engine?: EngineName;
  /** Default: 300. */
  timeoutSeconds?: number;
}

/** Fetches and verifies what functions run, and runs it. */
export interface Runner {
  /**
   * Pulls the image by its digest, or fetches, verifies and unpacks the executable. Nothing runs yet. Throws
   * `untrusted` for what the user does not allow, with the option; `unsupported` for inline executables and missing
   * platforms; `digest-mismatch`.
   */
  prepare(resolution: RunnableFunction): Promise<PreparedFunction>;
  /** Removes the copies of executables. */
  close(): Promise<void>;
}

/** What a runner has to know of a function. */
export type RunnableFunction = Pick<Resolution, 'apiVersion' | 'kind' | 'runtime'> &
  Partial<Pick<Resolution, 'catalog'>> & {
    /** What was installed for this runtime before. */
    executable?: InstalledExecutable;
  };

export interface PreparedFunction {
  /** Runs the function with a ResourceList. A function that fails gives its exit code; one that cannot run throws. */
  run(input: Uint8Array, options?: RunOptions): Promise<RunResult>;
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
  /** Working directory of an executable. Default: that of the command. */
  folder?: string;
  signal?: AbortSignal;
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
  /** Functions may write YAML documents without a ResourceList, as in kpt. Default: no. */
  acceptDocuments?: boolean;
  /** Results say how much memory a function used, where that can be known. Default: no. */
  measuresMemory?: boolean;
  /** Fetch nothing: what is not on this machine is `unavailable`. */
  offline?: boolean;
  /** Ends what looks for an engine or pulls an image. */
  signal?: AbortSignal;
  /** Where the private folder of executables is made. Default: the one of the system. */
  temporaryFolder?: string;
  tools?: KnownTools;
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
