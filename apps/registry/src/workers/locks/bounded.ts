/**
 * Rejects if work does not end in time. Work that hangs is not started again: callers share it until it ends.
 */
export function bounded<Result>(work: () => Promise<Result>, milliseconds: number): () => Promise<Result> {
  let pending: Promise<Result> | undefined;
  return async () => {
    pending ??= work().finally(() => {
      pending = undefined;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds);
    });
    try {
      return await Promise.race([pending, late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
