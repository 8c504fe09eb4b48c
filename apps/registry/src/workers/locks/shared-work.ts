/** Returns the work that runs under a key, or starts it. It stays until it has ended. */
export function shareWork<Result>(
  running: Map<string, Promise<Result>>,
  key: string,
  start: () => Promise<Result>,
): Promise<Result> {
  const known = running.get(key);
  if (known !== undefined) return known;
  const work = start().finally(() => {
    running.delete(key);
  });
  running.set(key, work);
  return work;
}
