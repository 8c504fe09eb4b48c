import { setTimeout as sleep } from 'node:timers/promises';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { plural, visible } from '../io/text.js';

/** Seconds that a registry may have a command wait at once: its quotas are of a minute. */
const MAX_WAIT_SECONDS = 120;
/** Milliseconds after the first wait in which more follow: enough to publish tens of thousands of releases. */
const MAX_TOTAL_MILLISECONDS = 3_600_000;

/** When a command waited first. */
const firstWaits = new WeakMap<Io, number>();

/** Waits as a registry that is asked too often says, and says so once; false where that would be too long. */
export async function waitForRateLimit(io: Io, registry: URL, seconds: number): Promise<boolean> {
  const now = io.now().getTime();
  const first = firstWaits.get(io);
  if (seconds > MAX_WAIT_SECONDS || now - (first ?? now) > MAX_TOTAL_MILLISECONDS) return false;
  if (first === undefined) {
    firstWaits.set(io, now);
    await new Progress(io).clear();
    const wait = `going on in ${plural(seconds, 'second')}, and waiting as often as it asks for it`;
    await printLine(io, visible(`${registry.host} takes no more for now: ${wait}`));
  }
  await sleep(seconds * 1_000);
  return true;
}
