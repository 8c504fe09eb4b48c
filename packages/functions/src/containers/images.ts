import { KrmhubError } from '@krmhub/schema/error';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { type ProgramResult, type ProgramRun, runProgram } from '../process/run-program.js';
import { type Engine, engineCommand } from './container-run.js';
import { describeFailure } from './engine-failure.js';
import { pinnedImage } from './pinned-image.js';

export interface PullOptions {
  signal?: AbortSignal;
  /** Gets each line of the engine's progress. Escape it before you print it. */
  onLine?: (line: string) => void;
}

const LIMITS: RunLimits = {
  timeout: FUNCTION_LIMITS.pullMilliseconds,
  // Each layer has lines of progress.
  maxOutputBytes: 16_777_216,
  maxStderrBytes: 1_048_576,
};
const MAX_LINE_LENGTH = 1_024;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/;

/** Reports whether the engine has the image of this digest, without asking a registry. */
export async function hasImage(engine: Engine, image: string, signal?: AbortSignal): Promise<boolean> {
  const { end } = await runEngine(engine, ['image', 'inspect', pinnedImage(image)], { signal });
  return end.type === 'exited' && end.exitCode === 0;
}

/**
 * Downloads an image unless the engine has it. The engine checks the digest. Rejects with `unavailable` if it fails,
 * and with `digest-mismatch` if the registry sent other content. Nothing runs.
 */
export async function pullImage(engine: Engine, image: string, options: PullOptions = {}): Promise<void> {
  const pinned = pinnedImage(image);
  if (await hasImage(engine, pinned, options.signal)) return;
  await downloadImage(engine, pinned, options);
}

/** Downloads an image, with or without a digest, also if the engine has it. Rejects as `pullImage`. */
export async function downloadImage(
  engine: Engine,
  image: string,
  { signal, onLine }: PullOptions = {},
): Promise<void> {
  const action = `cannot pull ${image}`;
  const { end, stderr } = await runEngine(engine, pullArguments(engine, image), {
    signal,
    onOutput: onLine === undefined ? undefined : splitLines(onLine),
  });
  if (end.type === 'timeout') {
    throw new KrmhubError('unavailable', `${action}: it took more than ${LIMITS.timeout / 60_000} minutes`, {
      hint: `Pull the image first: ${engine.engine} pull ${image}`,
    });
  }
  if (end.type !== 'exited' || end.exitCode !== 0) {
    throw describeFailure(engine.engine, action, Buffer.from(stderr).toString());
  }
}

/** Registries on this machine have no TLS. Docker knows that; the digest protects the content. */
function pullArguments({ engine }: Engine, image: string): string[] {
  const reference = parseImageReference(image);
  const isLoopback = reference.ok && reference.host !== undefined && LOOPBACK.test(reference.host);
  return [
    ...(isLoopback && engine === 'nerdctl' ? ['--insecure-registry'] : []),
    'pull',
    ...(isLoopback && engine === 'podman' ? ['--tls-verify=false'] : []),
    image,
  ];
}

/** Calls back with each line of a stream; long lines are cut. */
function splitLines(onLine: (line: string) => void): (piece: Buffer) => void {
  let open = '';
  return (piece) => {
    const lines = (open + piece.toString()).split(/\r?\n|\r/);
    open = lines.pop()!.slice(0, MAX_LINE_LENGTH);
    for (const line of lines) if (line !== '') onLine(line.slice(0, MAX_LINE_LENGTH));
  };
}

/** Runs a command of an engine that runs no function. */
export async function runEngine(
  engine: Engine,
  args: readonly string[],
  more: Pick<ProgramRun, 'signal' | 'onOutput'>,
): Promise<ProgramResult> {
  const result = await runProgram({ ...engineCommand(engine, args), limits: LIMITS, ...more });
  more.signal?.throwIfAborted();
  return result;
}
