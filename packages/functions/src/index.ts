/**
 * Runs KRM functions in containers, as executables, or as Starlark scripts, within limits.
 *
 * A command imports only what it needs, because loading takes time: this entry for containers and executables, `fn.ts`
 * for packages and chains, `plan/index.ts` for plans, or single modules such as `starlark/starlark-session.ts`.
 *
 * @module
 */

export { EXECUTABLE_LIMITS, type ExecutableLimits } from './archives/limits.js';
export { PULL_POLICIES, type PullPolicy } from './containers/container-arguments.js';
export {
  type ContainerRun,
  ENGINE_NAMES,
  type Engine,
  type EngineName,
} from './containers/container-run.js';
export { type EngineSearch, findEngine } from './containers/find-engine.js';
export { hasImage, type PullOptions, pullImage } from './containers/images.js';
export { pinnedImage } from './containers/pinned-image.js';
export {
  type ContainerCommand,
  runContainer,
  runContainerCommand,
} from './containers/run-container.js';
export {
  type ExecutableSource,
  type InstalledExecutable,
  installExecutable,
} from './executables/install-executable.js';
export { type ExecRun, runExecutable } from './executables/run-executable.js';
export { type InPlaceRun, runInPlace } from './executables/run-in-place.js';
export {
  DEFAULT_RUN_LIMITS,
  FUNCTION_LIMITS,
  type RunLimits,
} from './limits.js';
export { type FailedRun, FunctionFailure } from './output/function-failure.js';
export { type FunctionResult, RESULT_SEVERITIES, type ResultSeverity } from './output/function-result.js';
export { type FunctionOutput, readFunctionOutput } from './output/resource-list.js';
export type { RunResult } from './output/run-result.js';
export { findProgram } from './process/find-program.js';
export type { Environment } from './process/run-program.js';
export { findSandbox, type Sandbox, type SandboxSearch } from './sandbox/bubblewrap.js';
export type { StarlarkRun } from './starlark/starlark-session.js';
