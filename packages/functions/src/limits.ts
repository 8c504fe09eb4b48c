/** Limits of one run. */
export interface RunLimits {
  /** Milliseconds until the function and everything that it started are ended. */
  timeout: number;
  /** Size of standard output. A function that writes more is ended. */
  maxOutputBytes: number;
  /** Size of the standard error that is returned. The rest is read and dropped. */
  maxStderrBytes: number;
}

/** Limits on running functions: the unit and the reason for each. */
export const FUNCTION_LIMITS = {
  /** Timeout of one run, as in kpt. */
  timeoutMilliseconds: 300_000,
  /** Size of the ResourceList that a function writes. The largest real packages have a few megabytes. */
  maxOutputBytes: 134_217_728,
  /** Size of the error output that is shown. */
  maxStderrBytes: 1_048_576,
  /** Size of one file that a function writes: it must not fill the disk. Functions write only temporary files. */
  maxFileBytes: 1_073_741_824,
  /** Size of each temporary folder of an executable in the sandbox: it is memory. */
  maxTemporaryBytes: 1_073_741_824,
  /** Processes of a container. Docker has no limit of its own; podman allows 2,048. */
  maxContainerProcesses: 2_048,
  /** Delay between SIGTERM and SIGKILL for a function that is ended. */
  killMilliseconds: 2_000,
  /** Delay until processes that a function left behind are killed. */
  leftoverMilliseconds: 1_000,
  /** Timeout for a container engine that is asked for its version. */
  engineMilliseconds: 15_000,
  /** Timeout for the removal of a container. */
  removeMilliseconds: 30_000,
  /** Timeout for the download of an image. */
  pullMilliseconds: 600_000,
} as const;

export const DEFAULT_RUN_LIMITS: RunLimits = {
  timeout: FUNCTION_LIMITS.timeoutMilliseconds,
  maxOutputBytes: FUNCTION_LIMITS.maxOutputBytes,
  maxStderrBytes: FUNCTION_LIMITS.maxStderrBytes,
};
