/** Runs `work` for all items, `limit` at a time. After a failure no further work starts; rejects when all has ended. */
export async function runInParallel<Item>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items].reverse();
  let failed = false;
  const worker = async () => {
    for (let item = waiting.pop(); item !== undefined && !failed; item = waiting.pop()) {
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: limit }, worker));
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
}
