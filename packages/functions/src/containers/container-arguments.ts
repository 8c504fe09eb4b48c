import { KrmhubError } from '@krmhub/schema/error';
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
 * The arguments of `docker`, `podman` or `nerdctl` that run a function. The first arguments are those of kpt and kustomize:
 * `--rm -i --network none --user nobody --security-opt=no-new-privileges --pull missing`. The others remove permissions that no
 * function needs, so every correct function still runs.
 *
 * The file system is not read-only, as in kpt and kustomize: shells write temporary files for here-documents. Docker, podman,
 * and nerdctl remove the files with the container. `--cap-drop ALL` would not change this user, which has no capabilities
 * and gains none without new privileges. Only programs with file capabilities would not start.
 */
export function containerArguments(run: ContainerRun, name: string): string[] {
  return [
    'run',
    '--rm',
    '--interactive',
    // So that the container can be removed if its command line was ended.
    ...['--name', name],
    ...['--network', run.network ? 'host' : 'none'],
    ...['--user', NOBODY],
    '--security-opt=no-new-privileges',
    ...['--pull', 'missing'],
    ...ENGINE_ARGUMENTS[run.engine],
    ...run.mounts.flatMap((mount) => ['--mount', mountArgument(mount)]),
    ...Object.entries(run.env).flatMap(([key, value]) => ['--env', environmentArgument(key, value)]),
    pinnedImage(run.image),
  ];
}

/** Without a log driver, the engine does not store what the function writes, which may be endless. */
const NO_LOG = ['--log-driver', 'none'];
const { maxFileBytes, maxContainerProcesses } = FUNCTION_LIMITS;

const ENGINE_ARGUMENTS: Readonly<Record<EngineName, readonly string[]>> = {
  docker: [
    ...NO_LOG,
    // No core dumps, which would contain the input. No file that fills the disk.
    ...['--ulimit', 'core=0:0'],
    ...['--ulimit', `fsize=${maxFileBytes}:${maxFileBytes}`],
    // A kernel that cannot limit processes makes docker print a warning, not fail.
    ...['--pids-limit', String(maxContainerProcesses)],
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
  if (!ENVIRONMENT_NAME.test(name)) {
    throw new KrmhubError('invalid-request', `"${name}" is not a valid name of an environment variable`);
  }
  return `${name}=${value}`;
}
