/** Limits of one run. */
export interface RunLimits {
  /** Milliseconds until krmhub kills the function and its processes. */
  timeout: number;
  /** Size of standard output. krmhub kills a function that writes more. */
  maxOutputBytes: number;
  /** Size of the returned standard error. krmhub reads and drops the rest. */
  maxStderrBytes: number;
  /** Whether the output may be YAML documents without a ResourceList around them, as in kpt. Default: no. */
  acceptDocuments?: boolean;
  /** Whether the result says how much memory the function used. Default: no. */
  measuresMemory?: boolean;
}

/** Limits on running functions: the unit and the reason for each. */
export const FUNCTION_LIMITS = {
  /** Timeout of one run, as in kpt. */
  timeoutMilliseconds: 300_000,
  /** Size of the output of a function. The largest real packages have a few megabytes. */
  maxOutputBytes: 134_217_728,
  /** Size of the error output that krmhub shows. */
  maxStderrBytes: 1_048_576,
  /**
   * Size of one file that a function writes, so that it cannot fill the disk. Functions write only temporary files.
   */
  maxFileBytes: 1_073_741_824,
  /** Memory that one process of an executable can write. Functions that hold the largest output need less. */
  maxMemoryBytes: 4_294_967_296,
  /** Size of each temporary folder of an executable in the sandbox, which is in memory. */
  maxTemporaryBytes: 1_073_741_824,
  /** Processes and threads of a container or a sandbox. Docker has no default limit; the limit of podman is 2,048. */
  maxProcesses: 2_048,
  /** Memory of a Starlark script, its ResourceList included, in megabytes. */
  maxScriptMegabytes: 2_048,
  /** Delay between SIGTERM and SIGKILL. */
  killMilliseconds: 2_000,
  /** Delay before krmhub kills processes that a function left running. */
  leftoverMilliseconds: 1_000,
  /** Timeout for the version request to a container engine. */
  engineMilliseconds: 15_000,
  /** Timeout for the removal of a container. */
  removeMilliseconds: 30_000,
  /** Timeout for the download of an image. */
  pullMilliseconds: 600_000,
} as const;

/** Variables of a function, as kustomize sets them for containers (kyaml, `NewContainerEnv`). */
export const FUNCTION_ENVIRONMENT = { LOG_TO_STDERR: 'true', STRUCTURED_RESULTS: 'true' };

export const DEFAULT_RUN_LIMITS: RunLimits = {
  timeout: FUNCTION_LIMITS.timeoutMilliseconds,
  maxOutputBytes: FUNCTION_LIMITS.maxOutputBytes,
  maxStderrBytes: FUNCTION_LIMITS.maxStderrBytes,
};
