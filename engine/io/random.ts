/**
 * The random port. Streams are named: `fork('disk')` returns a stream of its own, so a new draw in one module changes
 * no draw of another. Not promised: secrecy. Draws are not for keys or access tokens.
 */

/** A stream of random numbers. */
export interface Random {
  /** A whole number 0..2^32-1. */
  u32(): number;
  /** A whole number 0..bound-1, without bias; `bound` is 1..2^32. */
  below(bound: number): number;
  /** True with probability `numerator` / `denominator`. */
  chance(numerator: number, denominator: number): boolean;
  /** `count` random bytes. */
  bytes(count: number): Buffer;
  /** An independent stream. In the simulated world the same parent and name give the same stream. */
  fork(name: string): Random;
}

/** A random element. Throws `RangeError` for an empty list. */
export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[random.below(items.length)];
  if (item === undefined) throw new RangeError('pick from an empty list');
  return item;
}

/** A copy in random order, every order equally likely (Fisher and Yates; Knuth, TAOCP 3.4.2 P). */
export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const rest = [...items];
  const order: T[] = [];
  while (rest.length > 0) order.push(...rest.splice(random.below(rest.length), 1));
  return order;
}
