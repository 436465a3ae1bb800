/**
 * The random door. Streams are named: `fork('disk')` gives a stream of its own, so that a new draw in one room moves
 * nothing in another. Not promised: secrecy; draws are not for keys or tokens of access.
 */
export interface Random {
  /** A whole number 0..2^32-1. */
  u32(): number;
  /** A whole number 0..bound-1 without bias; `bound` is 1..2^32. */
  below(bound: number): number;
  /** True in `numerator` of `denominator` cases. */
  chance(numerator: number, denominator: number): boolean;
  /** `count` random bytes. */
  bytes(count: number): Buffer;
  /** An independent stream; in the world the same parent and name give the same stream. */
  fork(name: string): Random;
}

/** A random element of a non-empty list. */
export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[random.below(items.length)];
  if (item === undefined) throw new RangeError('pick from an empty list');
  return item;
}

/** The items in a random order, each order as likely as any other (Fisher and Yates; Knuth, TAOCP 3.4.2 P). */
export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const rest = [...items];
  const order: T[] = [];
  while (rest.length > 0) order.push(...rest.splice(random.below(rest.length), 1));
  return order;
}
