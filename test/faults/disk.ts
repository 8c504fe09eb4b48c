import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from '../processes.js';
import type { Outcome } from './kill.js';
import { startServer } from './server.js';
import { findDamage, lossesAfterKill, lossesOverHttp } from './verify.js';
import { newLedger, work } from './workload.js';

/** Bytes of the disk: enough for all rounds of a campaign, and the log of the database, which grows to 32 MiB. */
const DISK_BYTES = 128 * 1024 * 1024;
const PAGE_BYTES = 4_096;
/** File that fills the disk, so that the free space can be set to any size. */
const BALLAST = 'ballast';

/** Whether a disk of a given size can be made here: Linux, and the right to mount. */
export function canMount(scratch: string): boolean {
  const folder = path.join(scratch, 'mount-probe');
  mkdirSync(folder, { recursive: true });
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' });
  if (mounted.status !== 0) return false;
  spawnSync('umount', [folder]);
  return true;
}

/**
 * Sets the free space of a running server to several sizes in turn: writes that do not fit get 507, reads
 * continue, and with free space again publishes do too.
 */
export function fillDisk(scratch: string, freeBytes: readonly number[]): Promise<Outcome[]> {
  return withDisk(path.join(scratch, 'disk'), DISK_BYTES, (disk) => fillServer(disk, freeBytes));
}

/** Runs work with a disk of this size, mounted at this folder. */
export async function withDisk<Result>(
  disk: string,
  bytes: number,
  work: (disk: string) => Promise<Result>,
): Promise<Result> {
  mkdirSync(disk, { recursive: true });
  const options = ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', disk];
  if (spawnSync('mount', options).status !== 0) throw new Error(`${disk} cannot be mounted`);
  // Lazily, since a server that is being killed may have files open.
  const unmount = () => void spawnSync('umount', ['--lazy', disk]);
  process.once('exit', unmount);
  try {
    return await work(disk);
  } finally {
    process.off('exit', unmount);
    unmount();
  }
}

async function fillServer(disk: string, freeBytes: readonly number[]): Promise<Outcome[]> {
  const data = path.join(disk, 'data');
  const ballast = path.join(disk, BALLAST);
  const server = await startServer(data);
  if (server === undefined) throw new Error('the server does not start on the disk');
  const ledger = newLedger();
  const outcomes: Outcome[] = [];
  let round = 0;
  try {
    await work(server, ledger, round++);
    for (const free of freeBytes) {
      leaveFree(ballast, free);
      const statuses: number[] = [];
      // Until it is really full: a round may need as little as a page.
      const last = round + 6 + free / PAGE_BYTES;
      while (round < last && !statuses.includes(507)) statuses.push(...(await work(server, ledger, round++)));
      const losses = statuses.includes(507) ? [] : [`requests on a full disk get ${statuses}`];
      for (const route of ['/healthz', '/catalogs/default/catalog.yaml', '/api/v1/functions?q=fn']) {
        const answer = await fetch(`${server.url}${route}`);
        await answer.arrayBuffer();
        if (answer.status !== 200)
          losses.push(`${route} responds with ${answer.status} while the disk is full`);
      }
      rmSync(ballast);
      losses.push(
        ...(await lossesOverHttp(server, ledger)),
        ...(await findDamage(data, 'on a disk that was full')),
      );
      const after = await work(server, ledger, round++);
      if (after.some((status) => status !== 200 && status !== 201)) {
        losses.push(`with free space again, publishing gives ${after}`);
      }
      outcomes.push({ fault: `disk full but for ${free} bytes`, injected: 1, losses });
    }
    await server.stop('SIGKILL');
    const last = await lossesAfterKill(data, ledger);
    outcomes.push({ fault: 'kill on a disk that was full', injected: 1, losses: last });
    return outcomes;
  } finally {
    await server.stop('SIGKILL');
  }
}

/**
 * Fills the disk with a file except for this many bytes. The server may write meanwhile: then a little less
 * is left.
 */
export function leaveFree(ballast: string, free: number): void {
  const { bavail, bsize } = statfsSync(path.dirname(ballast));
  try {
    writeFileSync(ballast, Buffer.alloc(Math.max(bavail * bsize - free, 0), 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
