import type { Environment, ProgramRun } from '../process/run-program.js';

export const ENGINE_NAMES = ['docker', 'podman', 'nerdctl'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/** A container engine of this machine. */
export interface Engine {
  engine: EngineName;
  /** Path of its command line. */
  program: string;
  /**
   * Environment of that command line, never of a function: it says where the engine and its credentials are.
   */
  engineEnv: Environment;
}

/** How to start the command line of an engine. */
export function engineCommand(
  { program, engineEnv }: Engine,
  args: readonly string[],
): Pick<ProgramRun, 'program' | 'args' | 'env'> {
  return { program, args, env: engineEnv };
}

export interface ContainerRun extends Engine {
  /** `NAME@sha256:…`; a tag is ignored. */
  image: string;
  /** Allows the network of this machine, as kpt and kustomize do; without it there is none. */
  network: boolean;
  /** As in kustomize: `type=bind,source=/folder,target=/folder`, read-only unless `rw=true`. Paths are absolute. */
  mounts: readonly string[];
  /** All of the environment. Other users of this machine can see the values while the function runs. */
  env: Readonly<Record<string, string>>;
}
