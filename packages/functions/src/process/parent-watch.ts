import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { HAS_PROCESS_GROUPS } from './process-group.js';

/**
 * Ends functions with krmhub, however it ends: after SIGKILL nobody else would. A shell waits for the end of its input,
 * which this process holds open. It starts faster than Node.js, and has a session of its own, so that an interrupt of
 * the terminal does not reach it.
 *
 * Input: `+ GROUP` for a process group to kill, `- GROUP` for one that has ended, `done` if there is nothing left to
 * do. The arguments are a command that cleans up. It runs again if it fails, and while an engine may still be making
 * the container that it removes.
 */
const WATCH = `trap '' INT TERM HUP
groups=
while read -r sign group; do
  case $sign in
  +) groups="$groups $group" ;;
  -) kept=
    for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
    groups=$kept ;;
  done) exit ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
[ $# -gt 0 ] || exit
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  if said=$("$@" 2>&1 </dev/null); then
    case $said in
    *[Nn]'o container'* | *[Nn]'o such container'*) ;;
    *) exit ;;
    esac
  fi
  sleep 1
done`;

const SHELL = '/bin/sh';
/** For programs of the system, which need nothing of the user. The last folder is that of NixOS. */
export const SYSTEM_ENVIRONMENT = { PATH: '/usr/bin:/bin:/run/current-system/sw/bin' };

/** Path of a POSIX shell; undefined where there is none: then functions may outlive a krmhub that was killed. */
export const WATCH_SHELL: string | undefined = HAS_PROCESS_GROUPS && existsSync(SHELL) ? SHELL : undefined;

/** A command that removes what a killed krmhub left. */
export interface Cleanup {
  program: string;
  args: readonly string[];
  /** All of the environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** The working directory of this process by default, since settings of an engine may have relative paths. */
  cwd?: string;
}

type Watcher = ChildProcessByStdio<Writable, null, null>;

let shared: Watcher | undefined;

/** Starts the watch over process groups, once. Before a program starts, so that it is never without one. */
export function startGroupWatch(): void {
  if (shared !== undefined || WATCH_SHELL === undefined) return;
  const started = startWatcher(WATCH_SHELL, [], { env: SYSTEM_ENVIRONMENT, cwd: '/' });
  shared = started;
  const forget = () => {
    if (shared === started) shared = undefined;
  };
  started.on('error', forget).on('exit', forget);
}

/** From now on, the process group ends with this process. Returns what ends the watch, for a group that has ended. */
export function watchGroup(group: number): () => void {
  const watcher = shared;
  watcher?.stdin.write(`+ ${group}\n`);
  return () => void watcher?.stdin.write(`- ${group}\n`);
}

/** From now on, the command runs when this process is killed. Returns what ends the watch. */
export function watchCleanup({ program, args, ...place }: Cleanup): () => void {
  if (WATCH_SHELL === undefined) return () => undefined;
  const watcher = startWatcher(WATCH_SHELL, [program, ...args], place);
  return () => void watcher.stdin.end('done\n');
}

/** From now on, the folder is removed when this process is killed. Returns what ends the watch. */
export function watchFolder(folder: string): () => void {
  return watchCleanup({ program: 'rm', args: ['-rf', '--', folder], env: SYSTEM_ENVIRONMENT });
}

function startWatcher(
  shell: string,
  cleanup: readonly string[],
  place: Pick<Cleanup, 'env' | 'cwd'>,
): Watcher {
  const watcher = spawn(shell, ['-c', WATCH, 'sh', ...cleanup], {
    ...place,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a watcher, functions run all the same.
  watcher.on('error', () => undefined);
  watcher.stdin.on('error', () => undefined);
  // It ends after this process, which does not wait for it.
  watcher.unref();
  if ('unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  return watcher;
}
