import { type Diagnostic, type ErrorCode, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

/** An error between threads or processes. A structured clone of a KrmhubError would lose its class. */
export interface SentError {
  code?: ErrorCode;
  message: string;
  hint?: string;
  diagnostics: readonly Diagnostic[];
  stack?: string;
}

export function sentError(error: unknown): SentError {
  if (error instanceof KrmhubError) {
    const { code, message, hint, diagnostics } = error;
    return { code, message, diagnostics, ...defined({ hint }) };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { message, diagnostics: [], ...defined({ stack }) };
}

export function receivedError({ code, message, hint, diagnostics, stack }: SentError): Error {
  if (code !== undefined) {
    return new KrmhubError(code, message, { ...defined({ hint }), diagnostics });
  }
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
