import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Where Linux has a file system in memory. */
const MEMORY = '/dev/shm';
/** Bytes that must be free there: no run writes as much. */
const NEEDED = 6 * 2 ** 30;

/**
 * Gives the run a new temporary folder, in memory if there is enough: a registry waits for the disk at
 * every write, and a test would wait with it. The folder is removed at the end.
 */
export default function makeTemporaryFolder(): () => void {
  const before = process.env.TMPDIR;
  const folder = mkdtempSync(path.join(hasRoom(MEMORY) ? MEMORY : tmpdir(), 'krmhub-tests-'));
  // Some tests run programs as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true });
  };
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= NEEDED;
  } catch {
    return false;
  }
}
