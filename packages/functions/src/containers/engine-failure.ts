import { KrmhubError } from '@krmhub/schema/error';
import type { ProgramResult } from '../process/run-program.js';
import type { Engine, EngineName } from './container-run.js';

/** Exit code of docker and podman for "the container could not be run". A function may use it too. */
const ENGINE_FAILED = 125;
/** Exit codes for "the program of the image could not be started". A function may use them too. */
const NOT_STARTED = [126, 127];
const OF_RUNTIME = /\b(?:OCI runtime|OCI permission denied|runc|crun|containerd)\b/;
const OF_LIMITS = /rlimit|ulimit/i;
/** Of podman, and of docker. */
const OF_MOUNT = /^statfs |invalid mount|bind source path|mount (?:type|option)|filesystem type/i;
/** Of an image that the engine may not download. */
const NO_IMAGE = /image not known|no such image/i;
const NOT_RUNNING =
  /cannot connect to (?:the docker daemon|podman)|is the docker daemon running|error during connect|cannot access containerd|connection refused.*containerd|unable to connect to podman/i;
/** Of podman, of docker, and of containerd. */
const WRONG_DIGEST =
  /does not match (?:provided manifest digest|expected sha256)|verification failed for digest|unexpected commit digest/i;
/** Progress of a download, which the engines also write to stderr. */
const PROGRESS =
  /^(?:Trying to pull|Getting image source|Copying |Writing manifest|Storing signatures|Unable to find image|[0-9a-f]{12}: )/;
const MAX_LENGTH = 500;

const START: Readonly<Record<EngineName, string>> = {
  docker:
    'Start Docker, for example with `sudo systemctl start docker`, or use another engine with `--engine`.',
  podman: 'Start podman, for example with `podman machine start`, or use another engine with `--engine`.',
  nerdctl:
    'Start containerd, for example with `sudo systemctl start containerd`, or use another engine with `--engine`.',
};

/** The error if it was the engine that failed, and not the function; undefined otherwise. */
export function engineFailure(
  { engine }: Engine,
  action: string,
  result: ProgramResult,
): KrmhubError | undefined {
  const { end, stderr } = result;
  if (end.type !== 'exited' || end.exitCode === 0) return undefined;
  const text = Buffer.from(stderr).toString();
  const isEngine =
    end.exitCode === ENGINE_FAILED ||
    (NOT_STARTED.includes(end.exitCode) && OF_RUNTIME.test(failureReason(text))) ||
    (engine === 'nerdctl' && end.exitCode === 1 && /level=fatal/.test(text));
  return isEngine ? describeFailure(engine, action, text) : undefined;
}

/** The error for a command of an engine that failed with this error output. */
export function describeFailure(engine: EngineName, action: string, stderr: string): KrmhubError {
  const reason = failureReason(stderr);
  if (NOT_RUNNING.test(stderr)) {
    return new KrmhubError('unavailable', `${action}: ${engine} is not running: ${reason}`, {
      hint: START[engine],
    });
  }
  if (WRONG_DIGEST.test(stderr)) {
    return new KrmhubError('digest-mismatch', `${action}: the registry sent the wrong content: ${reason}`, {
      hint: 'Do not use this image. Ask the operator of the registry why the content is wrong.',
    });
  }
  return new KrmhubError('unavailable', `${action}: ${engine} failed: ${reason}`, {
    hint: hintFor(engine, reason),
  });
}

/** The registry has no part in what fails after the download. */
function hintFor(engine: EngineName, reason: string): string {
  if (OF_LIMITS.test(reason)) {
    return 'Raise the limits of this user (show them with `ulimit -Ha`), or use another engine with `--engine`.';
  }
  if (OF_RUNTIME.test(reason)) {
    return `Check the entrypoint and the platform of the image, and the engine: ${engine} info`;
  }
  if (OF_MOUNT.test(reason)) return 'Check the mounts: each source must exist on this machine.';
  if (NO_IMAGE.test(reason)) {
    return `Download the image with \`${engine} pull\`, or permit it: --image-pull-policy IfNotPresent`;
  }
  return 'Check that the registry of the image is reachable, and that you are logged in.';
}

/** The last line that is not progress, without the prefixes of logs. */
function failureReason(stderr: string): string {
  const lines = stderr.split('\n').flatMap((line) => {
    const text = line.trim();
    return text === '' || PROGRESS.test(text) || /^(?:See|Run) '/.test(text) ? [] : [text];
  });
  const last = lines.at(-1) ?? 'no error message';
  const message = /\bmsg="((?:[^"\\]|\\.)*)"/.exec(last)?.[1] ?? last;
  return message.replace(/^(?:docker: |Error: )+/i, '').slice(0, MAX_LENGTH);
}
