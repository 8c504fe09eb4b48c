import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { recoverPackage } from '@krmhub/functions/fn';
import { folderContent } from '@krmhub/functions/testing/package-folder';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawn, spawnSync } from '../processes.js';
import { temporaryFolder } from '../running.js';
import { canMount } from './disk.js';
import { callsOf, EDIT, EditedPackage, FILES, runWithFault, watchers } from './edited-package.js';
import { canTrace } from './strace.js';

/** Writes of a package that are killed, or that fail: the files are all as they were, or all new. */

const { folder, remove } = temporaryFolder();
afterAll(remove);
const traces = canTrace();
/** Calls that change a file system. */
const CALLS = ['openat', 'write', 'rename', 'link', 'unlink', 'mkdir', 'fsync', 'chmod', 'rmdir'];
const POINTS_OF_A_CALL = 9;
const TIMED_KILLS = 60;

let edited: EditedPackage;

beforeAll(() => {
  edited = new EditedPackage(folder);
  expect(Object.keys(edited.written)).toHaveLength(FILES);
  expect(Object.values(edited.written).filter((text) => text.includes('value: new'))).toHaveLength(
    FILES - FILES / 10,
  );
});

/** What a killed process left is put right by the process that watches, by the next command, or by both at once. */
async function expectWhole(copy: string, how: number, counts: Map<string, number>): Promise<void> {
  if (how % 2 === 0) await recoverPackage(copy);
  else await expect.poll(() => edited.state(copy)).not.toBe('other');
  if (how % 2 === 0) await recoverPackage(copy);
  const found = edited.state(copy);
  if (found !== 'old') expect(folderContent(copy), `kill ${how}`).toEqual(edited.written);
  counts.set(found, (counts.get(found) ?? 0) + 1);
  await expect.poll(() => watchers(copy)).toBe('');
  expect(edited.state(copy)).toBe(found);
  rmSync(copy, { recursive: true });
}

describe.skipIf(!traces)(traces ? 'a process that is killed at a call' : 'strace is not installed', () => {
  it.each(CALLS)('%s leaves all files as they were, or all new', async (call) => {
    const counts = new Map<string, number>();
    const total = callsOf(EDIT, edited.copy(), call);
    for (let point = 0; point < POINTS_OF_A_CALL; point++) {
      // The last calls, since the first ones are those of Node.js.
      const when = Math.max(1, total - Math.floor((point * total) / POINTS_OF_A_CALL));
      const copy = edited.copy();
      runWithFault(EDIT, copy, call, `signal=KILL:when=${when}`);
      await expectWhole(copy, point, counts);
    }
    expect([...counts.values()].reduce((sum, one) => sum + one)).toBe(POINTS_OF_A_CALL);
  });
});

it('a process that is killed at any time leaves all files as they were, or all new', async () => {
  const counts = new Map<string, number>();
  for (let kill = 0; kill < TIMED_KILLS; kill++) {
    const copy = edited.copy();
    const child = spawn(process.execPath, [EDIT, copy], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    await after((kill / TIMED_KILLS) * (edited.milliseconds / 3), child);
    await expectWhole(copy, kill, counts);
  }
  expect([...counts.keys()].sort()).toEqual(['new', 'old']);
});

async function after(delay: number, child: ChildProcess): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, delay));
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  child.kill('SIGKILL');
  await ended;
}

it('an interrupted process leaves all files as they were, or all new', async () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const copy = edited.copy();
    const child = spawn(process.execPath, [EDIT, copy], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    child.kill(signal);
    await once(child, 'exit');
    await expectWhole(copy, 1, new Map());
  }
});

it('of processes that write at the same time, one succeeds', async () => {
  for (let round = 0; round < 5; round++) {
    const copy = edited.copy();
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, [EDIT, copy, 'wait'], { stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    await Promise.all(children.map((child) => once(child.stdout, 'data')));
    let printed = '';
    for (const child of children) {
      child.stdout.on('data', (text) => {
        printed += text;
      });
      child.stdin.write('write\n');
    }
    await Promise.all(children.map((child) => once(child, 'close')));
    expect(
      printed
        .replaceAll(/failed: conflict: .*/g, 'conflict')
        .trim()
        .split('\n')
        .sort(),
    ).toEqual([...Array.from({ length: 3 }, () => 'conflict'), 'written']);
    expect(edited.state(copy)).toBe('new');
  }
});

const mounts = canMount(folder);

describe.skipIf(!mounts)(mounts ? 'a full disk' : 'a disk of a given size cannot be mounted', () => {
  const disk = path.join(folder, 'disk');
  beforeAll(() => {
    mkdirSync(disk);
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status).toBe(0);
  });
  afterAll(() => void spawnSync('umount', ['--lazy', disk]));

  it('leaves all files as they were, or all new', () => {
    const results = new Set<string>();
    for (let pages = 0; pages <= FILES + 8; pages += 4) {
      const copy = edited.copy(disk);
      const ballast = path.join(disk, 'ballast');
      leaveFree(ballast, pages * 4_096);
      const { stdout } = spawnSync(process.execPath, [EDIT, copy], { encoding: 'utf8' });
      rmSync(ballast);
      const isWritten = stdout.endsWith('written\n');
      results.add(isWritten ? 'written' : 'full');
      if (!isWritten)
        expect(stdout).toMatch(/^writing\nfailed: storage-full: cannot write .*: the disk is full\n$/);
      expect(edited.state(copy)).toBe(isWritten ? 'new' : 'old');
      rmSync(copy, { recursive: true });
    }
    expect([...results].sort()).toEqual(['full', 'written']);
  });

  function leaveFree(ballast: string, bytes: number): void {
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(ballast, Buffer.alloc(Math.max(bavail * bsize - bytes, 0), 1));
  }
});
