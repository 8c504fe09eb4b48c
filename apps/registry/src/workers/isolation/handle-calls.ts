import { parentPort } from 'node:worker_threads';
import { type SentError, sentError } from './sent-error.js';

export interface Call {
  id: number;
  method: string;
  input: unknown;
}
export type CallResult = { id: number; result: unknown } | { id: number; error: SentError };
export interface Notice {
  notice: unknown;
}
/** Handles calls from the parent thread. */
export function handleCalls(methods: Record<string, (input: never) => Promise<unknown>>): void {
  parentPort?.on('message', async ({ id, method, input }: Call) => {
    let response: CallResult;
    try {
      const work = methods[method];
      if (work === undefined) throw new Error(`this thread has no method ${method}`);
      response = { id, result: await work(input as never) };
    } catch (error) {
      response = { id, error: sentError(error) };
    }
    parentPort?.postMessage(response);
  });
}

/** Sends the parent thread a message that is not a response. */
export function notify(notice: unknown): void {
  parentPort?.postMessage({ notice } satisfies Notice);
}
