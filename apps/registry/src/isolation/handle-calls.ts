import { parentPort } from 'node:worker_threads';
import { type Diagnostic, type ErrorCode, KrmhubError } from '@krmhub/schema';

export interface Call {
  id: number;
  method: string;
  input: unknown;
}
export type CallResult = { id: number; result: unknown } | { id: number; error: SentError };
export interface Notice {
  notice: unknown;
}
/** An error as it crosses threads: a structured clone would lose what makes it a KrmhubError. */
export interface SentError {
  code?: ErrorCode;
  message: string;
  hint?: string;
  diagnostics: readonly Diagnostic[];
  stack?: string;
}

/** Answers the calls of the thread that started this one. */
export function handleCalls(methods: Record<string, (input: never) => Promise<unknown>>): void {
  parentPort?.on('message', async ({ id, method, input }: Call) => {
    let answer: CallResult;
    try {
      const work = methods[method];
      if (work === undefined) throw new Error(`this thread has no method ${method}`);
      answer = { id, result: await work(input as never) };
    } catch (error) {
      answer = { id, error: sentError(error) };
    }
    parentPort?.postMessage(answer);
  });
}

/** Tells the thread that started this one something that it did not ask. */
export function notify(notice: unknown): void {
  parentPort?.postMessage({ notice } satisfies Notice);
}

function sentError(error: unknown): SentError {
  if (error instanceof KrmhubError) {
    const { code, message, hint, diagnostics } = error;
    return { code, message, diagnostics, ...(hint === undefined ? {} : { hint }) };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { message, diagnostics: [], ...(stack === undefined ? {} : { stack }) };
}
