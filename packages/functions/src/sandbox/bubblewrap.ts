/**
 * A sandbox for executables, made with bubblewrap on Linux.
 *
 * @module
 */

import { stat } from 'node:fs/promises';
import { arch, homedir, platform, release, userInfo } from 'node:os';
import path from 'node:path';
import { FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { findProgram } from '../process/find-program.js';
import { WATCH_SHELL } from '../process/parent-watch.js';
import { type Environment, EXTRA_INPUT, runProgram } from '../process/run-program.js';
import { callFilter } from './call-filter.js';
import { realPath } from './real-path.js';

/**
 * Bubblewrap (`bwrap`), which needs no root and no daemon. What an executable gets in it:
 *
 * - Namespaces of its own: it sees no other process, shares no memory, and reaches no network unless it is allowed. All
 *   of its processes are killed when it ends, also those that left their process group, and also if krmhub is killed.
 * - The file system of this machine, read-only. The home folder, both that of HOME and that of the user's account,
 *   `/tmp`, `/var/tmp`, `/dev/shm` and `/run` are replaced by empty folders in memory: keys, tokens, and the sockets of
 *   services such as Docker are not in it. The working directory stays readable, and so do folders of its PATH.
 * - No capabilities, no further user namespaces in which it would have some, no dangerous system calls
 *   (`call-filter.ts`), and only the environment that it was given.
 *
 * - A limited number of processes, unless the user is root, whom the kernel does not limit.
 *
 * It hides no files outside of those folders. `limited` limits memory and processor time of each process.
 */
export interface Sandbox {
  /** Path of `bwrap`. */
  program: string;
  /** Whether it can limit the size of a folder in memory (0.7.0). */
  limitsFolders: boolean;
  /** Whether it can forbid further user namespaces here (0.8.0), which give a program more of the kernel to attack. */
  forbidsNamespaces: boolean;
  /** Whether it can refuse system calls here: needs a kernel that can, and an architecture that krmhub knows. */
  filtersCalls: boolean;
}

export type SandboxSearch = { ok: true; sandbox: Sandbox } | { ok: false; reason: string };

export interface SandboxedCommand extends CommandPlace {
  /** Path of the executable. */
  file: string;
  args: readonly string[];
}

/** What decides which folders a command sees. */
export interface CommandPlace {
  /** Absolute path. */
  cwd: string;
  env: Readonly<Record<string, string>>;
  network: boolean;
  /** The home folder, which is hidden. */
  home?: string | undefined;
  /** Other folders and files with keys and tokens of the user, which are hidden, also in the working directory. */
  secrets?: readonly string[] | undefined;
}

const PROBE_LIMITS: RunLimits = {
  timeout: FUNCTION_LIMITS.engineMilliseconds,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
};
/** Where the executable is in the sandbox. Its own folder may be hidden; any other folder may be read-only. */
const FUNCTION_FOLDER = '/dev/krmhub-function';
/** Its own folder for temporary files may be hidden. */
const TEMPORARY_FOLDER = '/tmp';
/** Folders with sockets of services and files of other programs. */
const HIDDEN_FOLDERS = ['/tmp', '/var/tmp', '/run', '/dev/shm'];
/** Below `/run`: the programs of NixOS. */
const SYSTEM_FOLDERS = ['/run/current-system', '/run/wrappers'];
/** What `/etc/resolv.conf` often refers to. */
const RESOLVER_FOLDERS = ['/run/systemd/resolve', '/run/resolvconf', '/run/NetworkManager'];

/**
 * Limits the processes of the sandbox, in it: since Linux 5.14, the kernel counts those of a user namespace. An earlier
 * kernel would count all processes of the user, who may have more. Shells differ in the name of the limit.
 */
const LIMIT_PROCESSES =
  WATCH_SHELL === undefined || !isAtLeast(release(), 5, 14)
    ? []
    : [
        WATCH_SHELL,
        '-c',
        `ulimit -u ${FUNCTION_LIMITS.maxProcesses} 2>/dev/null || ulimit -p ${FUNCTION_LIMITS.maxProcesses} 2>/dev/null || :; exec "$@"`,
        'sh',
      ];

/** Finds bubblewrap, and tries it: in many containers it is installed and cannot make namespaces. */
export async function findSandbox(env: Environment, signal?: AbortSignal): Promise<SandboxSearch> {
  if (platform() !== 'linux') return { ok: false, reason: 'bubblewrap runs only on Linux' };
  const program = await findProgram('bwrap', env);
  if (program === undefined) return { ok: false, reason: 'bubblewrap (`bwrap`) is not installed' };
  const probe = (args: readonly string[], extraInput?: Uint8Array) =>
    runProgram({ program, args, env: {}, cwd: '/', limits: PROBE_LIMITS, signal, extraInput });
  const version = Buffer.from((await probe(['--version'])).output).toString();
  const shell = { file: '/bin/sh', args: ['-c', ':'], cwd: '/', env: {}, network: false };
  let reason = '';
  // One that runs as root for its users (setuid), or in some containers, cannot forbid them.
  for (const { forbidsNamespaces, filtersCalls } of abilities(version)) {
    const sandbox = { program, limitsFolders: isAtLeast(version, 0, 7), forbidsNamespaces, filtersCalls };
    const { end, stderr } = await probe(await sandboxArguments(sandbox, shell), sandboxFilter(sandbox));
    signal?.throwIfAborted();
    if (end.type === 'exited' && end.exitCode === 0) return { ok: true, sandbox };
    const [why = ''] = Buffer.from(stderr).toString().trim().split('\n');
    reason = why === '' ? end.type : why;
  }
  return { ok: false, reason: `bubblewrap cannot create a sandbox: ${reason}` };
}

/** What bubblewrap may be able to do here, the best first. Some kernels cannot filter system calls. */
function abilities(version: string): Pick<Sandbox, 'forbidsNamespaces' | 'filtersCalls'>[] {
  const canForbid = isAtLeast(version, 0, 8) ? [true, false] : [false];
  const canFilter = callFilter(arch()) === undefined ? [false] : [true, false];
  return canFilter.flatMap((filtersCalls) =>
    canForbid.map((forbidsNamespaces) => ({ forbidsNamespaces, filtersCalls })),
  );
}

/** What `bwrap` reads from its descriptor 3, as its arguments say. */
export function sandboxFilter({ filtersCalls }: Sandbox): Uint8Array | undefined {
  return filtersCalls ? callFilter(arch()) : undefined;
}

/** The arguments of `bwrap` that run a command in the sandbox. Mounts apply in this order. */
export async function sandboxArguments(
  { limitsFolders, forbidsNamespaces, filtersCalls }: Omit<Sandbox, 'program'>,
  command: SandboxedCommand,
): Promise<string[]> {
  const { file, args, env, network } = command;
  const size = limitsFolders ? ['--size', String(FUNCTION_LIMITS.maxTemporaryBytes)] : [];
  const readable = (folder: string) => ['--ro-bind-try', folder, folder];
  const { hidden, shown, hiddenBelow, shownAgain, hiddenFiles, realCwd } = await visibleFolders(command);
  const inside = `${FUNCTION_FOLDER}/${path.basename(file)}`;
  return [
    '--unshare-all',
    ...(forbidsNamespaces ? ['--unshare-user', '--disable-userns'] : []),
    ...(filtersCalls ? ['--seccomp', String(EXTRA_INPUT)] : []),
    ...(network ? ['--share-net'] : []),
    '--die-with-parent',
    ...['--cap-drop', 'ALL'],
    ...['--ro-bind', '/', '/'],
    ...['--dev', '/dev'],
    ...['--proc', '/proc'],
    ...hidden.flatMap((folder) => [...size, '--tmpfs', folder]),
    ...shown.flatMap(readable),
    ...hiddenBelow.flatMap((folder) => [...size, '--tmpfs', folder]),
    ...shownAgain.flatMap(readable),
    // Not read-only: a device that is bound like that cannot be opened.
    ...hiddenFiles.flatMap((one) => ['--dev-bind', '/dev/null', one]),
    ...['--ro-bind', file, inside],
    // A folder in memory, whose size bubblewrap cannot limit. Devices can still be written.
    ...['--remount-ro', '/dev'],
    ...['--chdir', realCwd],
    ...Object.entries(env).flatMap(([name, value]) => [
      '--setenv',
      name,
      name === 'TMPDIR' ? TEMPORARY_FOLDER : value,
    ]),
    '--',
    ...LIMIT_PROCESSES,
    inside,
    ...args,
  ];
}

/**
 * Returns the folders that the sandbox hides, those below them that it shows, what it hides below these, and the folders
 * of PATH that it shows below that.
 */
export async function visibleFolders({
  cwd,
  env,
  network,
  home = homedir(),
  secrets = [],
}: CommandPlace): Promise<{
  hidden: string[];
  shown: string[];
  hiddenBelow: string[];
  shownAgain: string[];
  hiddenFiles: string[];
  /** The real paths of the shown folders, in their order. */
  real: string[];
  realCwd: string;
}> {
  const { folders, files } = await existingSecrets(secrets);
  const homes = [home, accountHome(), ...folders].filter(path.isAbsolute);
  const hidden = await existingFolders([
    ...HIDDEN_FOLDERS,
    ...homes.filter((folder) => !SYSTEM.test(folder)),
  ]);
  const searched = await searchedFolders(env, [...hidden, ...(await Promise.all(homes.map(realPath)))]);
  const realCwd = await realPath(cwd);
  const shown = [...SYSTEM_FOLDERS, ...(network ? RESOLVER_FOLDERS : []), ...searched, realCwd]
    // Binding what is not hidden would do nothing but take time.
    .filter((folder) => hidden.some((other) => isInside(folder, other)));
  const real = await Promise.all(shown.map(realPath));
  const isShown = (place: string) => real.some((folder) => place !== folder && isInside(place, folder));
  const isHidden = (place: string) => hidden.some((folder) => isInside(place, folder));
  const hiddenBelow = folders.filter((folder) => isShown(folder) && !isInside(realCwd, folder));
  return {
    hidden,
    shown,
    hiddenBelow,
    shownAgain: shown.filter((_, index) => hiddenBelow.some((folder) => isInside(real[index]!, folder))),
    hiddenFiles: files.filter((file) => isShown(file) || !isHidden(file)),
    real,
    realCwd,
  };
}

/** Returns the real paths of the folders and files that exist. */
async function existingSecrets(secrets: readonly string[]): Promise<{ folders: string[]; files: string[] }> {
  const folders = new Set<string>();
  const files = new Set<string>();
  for (const secret of secrets.filter(path.isAbsolute)) {
    const real = await realPath(secret);
    const found = await stat(real).catch(() => undefined);
    // Devices, such as `/dev/null` for none, have no secrets.
    if (found?.isDirectory()) folders.add(real);
    else if (found?.isFile() && !isInside(real, '/proc')) files.add(real);
  }
  return { folders: [...folders], files: [...files] };
}

/** The home of the account, also if HOME is another folder; empty for a user without an account. */
function accountHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return '';
  }
}

/** Accounts of services have their homes there, and no program runs without these folders. */
const SYSTEM = /^\/(?:(?:usr|bin|sbin|lib|lib32|lib64|etc|dev|proc|sys)(?:\/.*)?)?$/;

/** Real paths of the folders that exist, without those below others. */
async function existingFolders(folders: readonly string[]): Promise<string[]> {
  const real = new Set<string>();
  for (const folder of folders.filter(path.isAbsolute)) {
    const found = await realPath(folder);
    const isFolder = await stat(found).then(
      (its) => its.isDirectory(),
      () => false,
    );
    if (isFolder && found !== '/') real.add(found);
  }
  return [...real].filter(
    (folder) => ![...real].some((other) => other !== folder && isInside(folder, other)),
  );
}

/** Returns the folders of PATH, without those that would show a hidden folder, whichever way they are written. */
async function searchedFolders(
  { PATH = '' }: Readonly<Record<string, string>>,
  hidden: readonly string[],
): Promise<string[]> {
  const folders = [
    ...new Set(
      PATH.split(':')
        .filter(path.isAbsolute)
        .map((folder) => path.resolve(folder)),
    ),
  ];
  const real = await Promise.all(folders.map(realPath));
  return folders.filter((_, index) => !hidden.some((one) => isInside(one, real[index]!)));
}

/** Reports whether a path is a folder or below it. */
export function isInside(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder}/`);
}

function isAtLeast(text: string, major: number, minor: number): boolean {
  const [, itsMajor = '0', itsMinor = '0'] = /(\d+)\.(\d+)/.exec(text) ?? [];
  return Number(itsMajor) > major || (Number(itsMajor) === major && Number(itsMinor) >= minor);
}
