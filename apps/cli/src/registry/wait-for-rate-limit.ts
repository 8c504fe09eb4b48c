import { setTimeout as sleep } from 'node:timers/promises';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';

/** Longest single wait. The quotas of a registry are per minute. */
const MAX_WAIT_SECONDS = 120;
/** Time after the first wait in which further waits are allowed: enough to publish tens of thousands of releases. */
const MAX_TOTAL_MILLISECONDS = 3_600_000;

/** Time of the first wait, by command. */
const firstWaits = new WeakMap<Io, number>();

/**
 * Waits as long as a rate-limited response says, and prints the first wait. Returns false for a wait that is too long.
 */
export async function waitForRateLimit(io: Io, registry: URL, seconds: number): Promise<boolean> {
  const now = io.now().getTime();
  const first = firstWaits.get(io);
  if (seconds > MAX_WAIT_SECONDS || now - (first ?? now) > MAX_TOTAL_MILLISECONDS) return false;
  if (first === undefined) {
    firstWaits.set(io, now);
    await new Progress(io).clear();
    const wait = `waiting ${plural(seconds, 'second')}, and again if necessary`;
    await printLine(io, escapeControls(`rate limit of ${registry.host} reached: ${wait}`));
  }
  await sleep(seconds * 1_000);
  return true;
}
