import type { Log } from '../../../log.js';
import type { SearchFollower } from './follower.js';
import type { IndexCopies, IndexCopy } from './index-copies.js';
import { INDEX_VERSION } from './index-file.js';

/** Changes that a new process reads again in a moment, beside a tenth of the functions. */
const MIN_CHANGES = 200;
/** Between two attempts. */
const PAUSE_MILLISECONDS = 60_000;
/** Age at which a copy is replaced after any change: it has what has been deleted since. */
const MAX_AGE_MILLISECONDS = 86_400_000;

export interface CopyKeeperDeps {
  follower: SearchFollower;
  copies: IndexCopies;
  /** Whether this process leads: only one writes copies. */
  leads(): boolean;
  log: Log;
  pauseMilliseconds?: number;
}

/** Returns a function that writes a copy of the search index if enough has changed since the newest one. */
export function copyKeeper(deps: CopyKeeperDeps): () => Promise<void> {
  const { follower, copies, leads, log, pauseMilliseconds = PAUSE_MILLISECONDS } = deps;
  /** The newest copy, what this process had read when it was written, and when it was asked for. */
  let last: { copy: IndexCopy | undefined; read: number; at: number } | undefined;
  let attempted = Number.NEGATIVE_INFINITY;
  const isDue = async (): Promise<boolean> => {
    const { isBuilding, event, erased, functions, read } = await follower.status();
    if (isBuilding) return false;
    // A process that could not use it has forgotten it.
    if (last === undefined || performance.now() - last.at >= pauseMilliseconds)
      last = { read, ...last, copy: await copies.newest(), at: performance.now() };
    const { copy } = last;
    if (copy === undefined || copy.version !== INDEX_VERSION || copy.takedowns !== erased) return true;
    const changes = Math.max(read - last.read, event - copy.event);
    if (event !== copy.event && Date.now() - copy.writtenAt > MAX_AGE_MILLISECONDS) return true;
    return changes >= MIN_CHANGES + functions / 10 || event < copy.event;
  };
  const write = async (): Promise<void> => {
    const { read } = await follower.status();
    last = undefined;
    const copy = await follower.packed((file, indexed) => copies.store(file, indexed));
    if (copy === undefined) return;
    last = { copy, read, at: performance.now() };
    log.info({ event: copy.event, bytes: copy.size }, 'wrote a copy of the search index to the blob store');
  };
  let waiting: NodeJS.Timeout | undefined;
  const keep = async (): Promise<void> => {
    // Another leader may have written one meanwhile.
    if (!leads()) last = undefined;
    else if (!(await isDue())) return;
    else if (performance.now() - attempted < pauseMilliseconds) {
      clearTimeout(waiting);
      waiting = setTimeout(() => void keepOrLog(), pauseMilliseconds).unref();
    } else {
      attempted = performance.now();
      await write();
    }
  };
  const keepOrLog = () =>
    keep().catch((error: unknown) =>
      log.warn({ err: error }, 'cannot write a copy of the search index: new processes start later'),
    );
  return keepOrLog;
}
