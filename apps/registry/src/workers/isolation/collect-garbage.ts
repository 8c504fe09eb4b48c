import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects the garbage of this thread now. V8 collects when a thread allocates, so one that reads much at its start and
 * little afterwards keeps the garbage of the start.
 */
export function collectGarbage(): void {
  exposed()();
}

/** Bytes of buffers that pile up. */
const BUFFER_BYTES = 12_582_912;

let buffered = 0;

/**
 * Counts bytes of large buffers that are garbage soon, and collects the young garbage from time to time, in about a
 * millisecond. V8 counts a new buffer as if it were old, and would mark all of the heap every 10 MB or so, which takes
 * as long as everything else about the body of an upload.
 */
export function countBuffers(bytes: number): void {
  buffered += bytes;
  if (buffered < BUFFER_BYTES) return;
  buffered = 0;
  exposed()({ type: 'minor' });
}

type Collect = (options?: { type: 'minor' }) => void;

let collect: Collect | undefined;

function exposed(): Collect {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  return collect;
}
