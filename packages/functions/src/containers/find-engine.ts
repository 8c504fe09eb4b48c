import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { findProgram } from '../process/find-program.js';
import { type Environment, runProgram } from '../process/run-program.js';
import { ENGINE_NAMES, type Engine, type EngineName } from './container-run.js';
import { describeFailure } from './engine-failure.js';

export interface EngineSearch {
  /** The engine to use. Otherwise the first that runs: docker, podman, nerdctl. */
  engine?: EngineName;
  /** The user's environment: where to look, and how to reach the engine. */
  env: Environment;
  signal?: AbortSignal;
}

const VERSION_LIMITS: RunLimits = {
  timeout: FUNCTION_LIMITS.engineMilliseconds,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
};

/**
 * Finds a container engine that runs. Rejects with `unavailable` if none is installed, or if none of the installed ones
 * answers; the message says why.
 */
export async function findEngine({ engine, env, signal }: EngineSearch): Promise<Engine> {
  const failures: KrmhubError[] = [];
  for (const name of engine === undefined ? ENGINE_NAMES : [engine]) {
    const program = await findProgram(name, env);
    if (program === undefined) continue;
    const found = await tryEngine(name, program, env, signal);
    if (!(found instanceof KrmhubError)) return found;
    failures.push(found);
  }
  const [first, ...others] = failures;
  if (first === undefined) throw notInstalled(engine);
  if (others.length === 0) throw first;
  throw new KrmhubError(
    'unavailable',
    failures.map(({ message }) => message).join('; '),
    defined({ hint: first.hint }),
  );
}

/** `version` asks the daemon of an engine too, and fails if it does not run. */
async function tryEngine(
  name: EngineName,
  program: string,
  env: Environment,
  signal: AbortSignal | undefined,
): Promise<Engine | KrmhubError> {
  const result = await runProgram({ program, args: ['version'], env, limits: VERSION_LIMITS, signal });
  const { end, output, stderr } = result;
  signal?.throwIfAborted();
  const action = `cannot use ${name}`;
  if (end.type === 'timeout') {
    return new KrmhubError(
      'unavailable',
      `${action}: \`${name} version\` did not respond within ${VERSION_LIMITS.timeout / 1_000} seconds`,
    );
  }
  if (end.type !== 'exited' || end.exitCode !== 0) {
    return describeFailure(name, action, Buffer.from(stderr).toString());
  }
  // The package podman-docker installs podman under the name of docker.
  const isPodman = Buffer.from(output).toString().includes('Podman Engine');
  return { engine: isPodman ? 'podman' : name, program, engineEnv: env };
}

function notInstalled(engine: EngineName | undefined): KrmhubError {
  if (engine !== undefined) {
    return new KrmhubError('unavailable', `cannot run containers: ${engine} is not installed`, {
      hint: `Install ${engine}, or use another engine with \`--engine\`.`,
    });
  }
  return new KrmhubError(
    'unavailable',
    'cannot run containers: docker, podman, and nerdctl are not installed',
    {
      hint: 'Install podman or Docker, or run the executable of the function with `--runtime exec`.',
    },
  );
}
