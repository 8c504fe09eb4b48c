import { notDrained } from './process-errors.js';

/** What work that waits before it begins asks. */
interface Beginning {
  isLate(): boolean;
  /** Throws if it is too late to begin. */
  begin(): void;
}

/** Rejects with `unavailable` if work does not begin in time; it does not begin later. */
export async function beginWithin<Result>(
  milliseconds: number,
  run: (beginning: Beginning) => Promise<Result>,
): Promise<Result> {
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      reject(notDrained());
    }, milliseconds);
  });
  try {
    const running = run({
      isLate: () => isLate,
      begin() {
        if (isLate) throw notDrained();
        clearTimeout(timer);
      },
    });
    return await Promise.race([running, late]);
  } finally {
    clearTimeout(timer);
  }
}
