/** Sorts a long array without holding the event loop for the whole time. */

/**
 * The items in the order of `compare`, as `Array.sort` gives them. After each `partItems` items that it handles it waits
 * for `pause`. Sorts `items` in place where they are no more than that.
 */
export async function sortInParts<T extends object>(
  items: T[],
  compare: (left: T, right: T) => number,
  partItems: number,
  pause: () => Promise<void>,
): Promise<T[]> {
  if (items.length <= partItems) return items.sort(compare);
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += partItems) {
    runs.push(items.slice(at, at + partItems).sort(compare));
    await pause();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergeInParts(runs[at] ?? [], runs[at + 1] ?? [], compare, partItems, pause));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeInParts<T extends object>(
  left: readonly T[],
  right: readonly T[],
  compare: (left: T, right: T) => number,
  partItems: number,
  pause: () => Promise<void>,
): Promise<T[]> {
  const merged: T[] = [];
  let [leftAt, rightAt] = [0, 0];
  while (leftAt < left.length || rightAt < right.length) {
    const [one, other] = [left[leftAt], right[rightAt]];
    if (one !== undefined && (other === undefined || compare(one, other) <= 0)) {
      merged.push(one);
      leftAt += 1;
    } else if (other !== undefined) {
      merged.push(other);
      rightAt += 1;
    }
    if (merged.length % partItems === 0) await pause();
  }
  return merged;
}
