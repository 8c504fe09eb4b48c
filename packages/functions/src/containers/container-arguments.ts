import { KrmhubError } from '@krmhub/schema/error';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { FUNCTION_LIMITS } from '../limits.js';
import type { ContainerRun, EngineName } from './container-run.js';
import { pinnedImage } from './pinned-image.js';
import { mountArgument } from './storage-mount.js';

/**
 * kpt and kustomize run `--user nobody`. An image can map that name to root in its `/etc/passwd`. The
 * number is the unprivileged user in every image, also without that file.
 */
const NOBODY = '65534:65534';
const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/**
 * The arguments of `docker`, `podman` or `nerdctl` that run a function. The first arguments are those of kpt and
 * kustomize: `--rm -i --network none --user nobody --security-opt=no-new-privileges --pull missing`. The others remove
 * permissions that no function needs, so every correct function still runs.
 *
 * The file system is not read-only, as in kpt and kustomize: shells write temporary files for here-documents. Docker,
 * podman, and nerdctl remove the files with the container. `--cap-drop ALL` would not change this user, which has no
 * capabilities and gains none without new privileges. Only programs with file capabilities would not start.
 */
export function containerArguments(run: ContainerRun, name: string): string[] {
  return [...runArguments(run, name, {}), pinnedImage(run.image)];
}

/** An image that the user named, as kpt runs it. */
export interface NamedImageRun extends ContainerRun {
  /** Default: `missing`. */
  pull?: PullPolicy;
  /** Numbers of user and group, as `0:0`, or a name that the image knows. Default: the number of nobody. */
  user?: string;
  /** Variables of the engine's environment that the function gets. Their values are not visible to other users. */
  passEnv?: readonly string[];
}

/** When to download an image: each time, if it is not there, or never. */
export const PULL_POLICIES = ['always', 'missing', 'never'] as const;
export type PullPolicy = (typeof PULL_POLICIES)[number];

/**
 * As `containerArguments`, for an image that the user named, with or without a digest. Throws `invalid-request` for a
 * text that is not an image: an engine could take it for an option.
 */
export function namedImageArguments(run: NamedImageRun, name: string): string[] {
  const reference = parseImageReference(run.image);
  if (!reference.ok) {
    throw new KrmhubError('invalid-request', `the image "${run.image}" ${reference.reason}`);
  }
  return [...runArguments(run, name, run), run.image];
}

function runArguments(
  run: ContainerRun,
  name: string,
  { pull = 'missing', user = NOBODY, passEnv = [] }: Pick<NamedImageRun, 'pull' | 'user' | 'passEnv'>,
): string[] {
  return [
    'run',
    '--rm',
    '--interactive',
    // So that the container can be removed if its command line was ended.
    ...['--name', name],
    ...['--network', run.network ? 'host' : 'none'],
    ...['--user', user],
    '--security-opt=no-new-privileges',
    ...['--pull', pull],
    ...ENGINE_ARGUMENTS[run.engine],
    ...run.mounts.flatMap((mount) => ['--mount', mountArgument(mount)]),
    ...Object.entries(run.env).flatMap(([key, value]) => ['--env', environmentArgument(key, value)]),
    ...passEnv.flatMap((key) => ['--env', variableName(key)]),
  ];
}

/** Without a log driver, the engine does not store what the function writes, which may be endless. */
const NO_LOG = ['--log-driver', 'none'];
const { maxFileBytes, maxProcesses } = FUNCTION_LIMITS;

const ENGINE_ARGUMENTS: Readonly<Record<EngineName, readonly string[]>> = {
  docker: [
    ...NO_LOG,
    // No core dumps, which would contain the input. No file that fills the disk.
    ...['--ulimit', 'core=0:0'],
    ...['--ulimit', `fsize=${maxFileBytes}:${maxFileBytes}`],
    // A kernel that cannot limit processes makes docker print a warning, not fail.
    ...['--pids-limit', String(maxProcesses)],
  ],
  podman: [
    ...NO_LOG,
    // By default podman passes on the proxy variables, which may contain passwords.
    '--http-proxy=false',
    // `rm --force` then kills at once.
    ...['--stop-timeout', '0'],
    // No `--ulimit`: podman then ignores the limits of its configuration, without which it cannot run inside of another
    // container. It limits processes by itself.
  ],
  nerdctl: [],
};

/** Always with a value: without one, engines take the variable of the user. */
function environmentArgument(name: string, value: string): string {
  return `${variableName(name)}=${value}`;
}

function variableName(name: string): string {
  if (ENVIRONMENT_NAME.test(name)) return name;
  throw new KrmhubError('invalid-request', `"${name}" is not a valid name of an environment variable`);
}
