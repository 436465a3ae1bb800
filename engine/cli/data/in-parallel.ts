/** Runs a task for each item of a stream, a bounded number at once. */

/**
 * Calls `task` for every item, at most `count` at a time, and resolves once all have ended. After the first rejection no
 * further item is taken, and the call rejects with it once the others under way have ended.
 */
export async function inParallel<T>(
  items: AsyncIterable<T>,
  count: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const item of items) {
    const one = task(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= count) await Promise.race(running);
    if (failures.length > 0) break;
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
