import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from './io.js';

/** Milliseconds between two looks at the parent process: nothing tells a process that its parent has ended. */
const INTERVAL_MILLISECONDS = 500;

/**
 * Returns a signal for a command that another program runs: it is aborted when the user stops the command, and when the
 * program that runs it has ended, for which nobody would read the output. `what` is the subject of the message.
 */
export function watchCaller(io: Pick<Io, 'waitForStop' | 'parentId'>, what: string): AbortSignal {
  const controller = new AbortController();
  const stop = (reason: string) => controller.abort(new KrmhubError('unavailable', `${what} ${reason}`));
  const parent = io.parentId();
  const timer = setInterval(() => {
    // An orphan gets another parent.
    if (io.parentId() !== parent) stop('was stopped: the program that ran it has ended');
  }, INTERVAL_MILLISECONDS);
  timer.unref();
  controller.signal.addEventListener('abort', () => clearInterval(timer));
  void io.waitForStop().then(() => stop('was stopped'));
  return controller.signal;
}
