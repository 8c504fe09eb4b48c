import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

export type LoadTool = 'wrk' | 'node';

/** External programs and settings of this machine. */
export interface Tools {
  /** The program that makes HTTP load. */
  load: LoadTool;
  nginx: boolean;
  dockerRegistry: boolean;
  kubectl: boolean;
  kpt: boolean;
  /** Whether there is a Python whose PyYAML has the parser written in C. */
  pyYaml: boolean;
  /** Whether server and load run on separate cores. */
  pinned: boolean;
}

export function findTools(wanted: LoadTool | undefined): Tools {
  const wrk = isUsable('wrk', ['--version']);
  if (wanted === 'wrk' && !wrk)
    throw new Error('wrk is not installed: `apt-get install wrk`, or leave --load out.');
  return {
    load: wanted ?? (wrk ? 'wrk' : 'node'),
    nginx: isUsable('nginx', ['-v']),
    dockerRegistry: isUsable('docker-registry', ['--version']),
    kubectl: isUsable('kubectl', ['version', '--client']),
    kpt: isUsable('kpt', ['version']),
    pyYaml: succeeds('python3', ['-c', 'from yaml import CSafeLoader, CSafeDumper']),
    pinned: availableParallelism() > 1 && isUsable('taskset', ['-c', '1', 'true']),
  };
}

function isUsable(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).error === undefined;
}

function succeeds(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

export type Core = 'server' | 'load' | 'any';

/** Returns a command line that runs on the core of servers, or on that of load. */
export function onCore({ pinned }: Tools, core: Core, commandLine: readonly string[]): [string, string[]] {
  const line =
    pinned && core !== 'any' ? ['taskset', '-c', core === 'server' ? '0' : '1', ...commandLine] : commandLine;
  return [line[0]!, line.slice(1)];
}
