import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';

export type LoadTool = 'wrk' | 'node';

/** External programs and settings of this machine. */
export interface Tools {
  /** The program that makes HTTP load. */
  load: LoadTool;
  nginx: boolean;
  dockerRegistry: boolean;
  kubectl: boolean;
  kpt: boolean;
  /** Folder with the programs of the newest PostgreSQL; undefined if it is not installed. */
  postgres: string | undefined;
  versitygw: boolean;
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
    postgres: findPostgres(),
    versitygw: isUsable('versitygw', ['--version']),
    pyYaml: succeeds('python3', ['-c', 'from yaml import CSafeLoader, CSafeDumper']),
    pinned: availableParallelism() > 1 && isUsable('taskset', ['-c', '1', 'true']),
  };
}

/** Where Debian installs the programs of each version. */
const POSTGRES_VERSIONS = '/usr/lib/postgresql';

function findPostgres(): string | undefined {
  if (!existsSync(POSTGRES_VERSIONS)) return undefined;
  return readdirSync(POSTGRES_VERSIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => path.join(POSTGRES_VERSIONS, version, 'bin'))
    .find((bin) => existsSync(path.join(bin, 'initdb')));
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
