import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from './io.js';

/** Returns a signal that is aborted when the user stops the command. */
export function watchForStop(io: Io, what: string): AbortSignal {
  const controller = new AbortController();
  void io.waitForStop().then(() => {
    controller.abort(new KrmhubError('unavailable', what, { hint: 'Run the same command again.' }));
  });
  return controller.signal;
}

/** Rejects as soon as the signal is aborted, without waiting for work that cannot be stopped. */
export async function interruptible<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
    // Its failure has no meaning any more.
    work.catch(() => undefined);
    stopped.catch(() => undefined);
  }
}
