/**
 * Runs functions in containers, with Docker, Podman, or nerdctl.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema/error';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { finishRun } from '../output/finish-run.js';
import type { RunResult } from '../output/run-result.js';
import { watchCleanup } from '../process/parent-watch.js';
import { runProgram } from '../process/run-program.js';
import { containerArguments } from './container-arguments.js';
import { type ContainerRun, type Engine, engineCommand } from './container-run.js';
import { engineFailure } from './engine-failure.js';

const REMOVE_LIMITS: RunLimits = {
  timeout: FUNCTION_LIMITS.removeMilliseconds,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
};
/** A daemon may still be making a container when the command that asked for it has been killed. */
const REMOVE_ATTEMPTS = 10;
const REMOVE_DELAY_MILLISECONDS = 250;

/**
 * Runs a function in a container, and removes the container however the run ends, also if krmhub is killed. The
 * engine's command line downloads the image if it is not there (`pullImage` does that before, outside of the timeout).
 *
 * Rejects with a FunctionFailure if the function was ended, killed, or wrote no ResourceList; with `untrusted` for an
 * image without a digest; with `unavailable` if the engine failed.
 */
export async function runContainer(
  run: ContainerRun,
  input: Uint8Array,
  limits: RunLimits,
  signal?: AbortSignal,
): Promise<RunResult> {
  signal?.throwIfAborted();
  const container = { image: run.image, argumentsFor: (name: string) => containerArguments(run, name) };
  return runContainerCommand(run, container, input, limits, signal);
}

/** A container whose arguments the caller has chosen. */
export interface ContainerCommand {
  /** For messages. */
  image: string;
  /** All arguments of the engine, with `--name` and this name. */
  argumentsFor(name: string): readonly string[];
}

/**
 * Runs a container with the arguments of the caller, who decides whether the image needs a digest. The limits, the
 * removal, and the errors are those of `runContainer`.
 */
export async function runContainerCommand(
  engine: Engine,
  { image, argumentsFor }: ContainerCommand,
  input: Uint8Array,
  limits: RunLimits,
  signal?: AbortSignal,
): Promise<RunResult> {
  signal?.throwIfAborted();
  const name = `krmhub-${randomUUID()}`;
  const command = engineCommand(engine, argumentsFor(name));
  const endWatch = watchCleanup(removeCommand(engine, name));
  try {
    // The program is the client of the engine, which uses other memory than the function.
    const result = await runProgram({
      ...command,
      input,
      limits: { ...limits, measuresMemory: false },
      signal,
    });
    const failure = engineFailure(engine, `cannot run ${image}`, result);
    // A container that has ended by itself was removed by `--rm`.
    const mayRemain = failure !== undefined || result.end.type !== 'exited';
    const isGone = !mayRemain || (await removeContainer(engine, name, result.end.type !== 'exited'));
    if (failure !== undefined) throw failure;
    if (!isGone) throw notRemoved(engine, name);
    return finishRun(result, { name: image, input, limits, isWrapped: true, signal });
  } finally {
    endWatch();
  }
}

function removeCommand(engine: Engine, name: string): ReturnType<typeof engineCommand> {
  return engineCommand(engine, ['rm', '--force', name]);
}

/** Removes a container, which kills it. `mayAppear`: it is looked for again if it does not exist. */
async function removeContainer(engine: Engine, name: string, mayAppear: boolean): Promise<boolean> {
  const command = removeCommand(engine, name);
  for (let attempt = 1; ; attempt++) {
    const { end, stderr } = await runProgram({ ...command, limits: REMOVE_LIMITS });
    const isMissing = /no (?:such )?container/i.test(Buffer.from(stderr).toString());
    if (end.type === 'exited' && end.exitCode === 0 && !isMissing) return true;
    if (isMissing && !mayAppear) return true;
    if (attempt === REMOVE_ATTEMPTS) return isMissing;
    await sleep(REMOVE_DELAY_MILLISECONDS);
  }
}

function notRemoved({ engine }: Engine, name: string): KrmhubError {
  return new KrmhubError('unavailable', `cannot remove the container ${name}`, {
    hint: `Remove it: ${engine} rm --force ${name}`,
  });
}
