import { KrmhubError } from '@krmhub/schema/error';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { runProgram } from '../process/run-program.js';
import { type Engine, engineCommand } from './container-run.js';
import { describeFailure } from './engine-failure.js';
import { pinnedImage } from './pinned-image.js';

const LIMITS: RunLimits = {
  timeout: FUNCTION_LIMITS.pullMilliseconds,
  maxOutputBytes: 1_048_576,
  maxStderrBytes: 1_048_576,
};

/** Reports whether the engine has the image of this digest, without asking a registry. */
export async function hasImage(engine: Engine, image: string, signal?: AbortSignal): Promise<boolean> {
  const { end } = await runEngine(engine, ['image', 'inspect', pinnedImage(image)], signal);
  return end.type === 'exited' && end.exitCode === 0;
}

/**
 * Downloads an image unless the engine has it. The engine checks the digest. Rejects with `unavailable` if it fails, and
 * with `digest-mismatch` if the registry sent other content. Nothing runs.
 */
export async function pullImage(engine: Engine, image: string, signal?: AbortSignal): Promise<void> {
  const pinned = pinnedImage(image);
  if (await hasImage(engine, pinned, signal)) return;
  const action = `cannot pull ${pinned}`;
  const { end, stderr } = await runEngine(engine, ['pull', '--quiet', pinned], signal);
  if (end.type === 'timeout') {
    throw new KrmhubError('unavailable', `${action}: it took more than ${LIMITS.timeout / 60_000} minutes`, {
      hint: `Pull the image first: ${engine.engine} pull ${pinned}`,
    });
  }
  if (end.type !== 'exited' || end.exitCode !== 0) {
    throw describeFailure(engine.engine, action, Buffer.from(stderr).toString());
  }
}

async function runEngine(engine: Engine, args: readonly string[], signal: AbortSignal | undefined) {
  const result = await runProgram({ ...engineCommand(engine, args), limits: LIMITS, signal });
  signal?.throwIfAborted();
  return result;
}
