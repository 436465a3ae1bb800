/** Draws the bucket properties by which requests that state no need wait for replicas. */
import type { NeedProperty } from '../bucket-needs.ts';

/** One run in so many has such properties. */
const runsFor = 3;

/**
 * What may be drawn of each; an empty text leaves the engine's default. `pr` and `node_confirms` never exceed what reads
 * need that state a quorum.
 */
const words: readonly (readonly [NeedProperty, readonly string[]])[] = [
  ['r', ['', 'one', 'quorum', 'all', 'all']],
  ['w', ['', 'one', 'quorum', 'all', 'all']],
  ['rw', ['', '', 'one', 'all']],
  ['pr', ['', '', 'quorum']],
  ['pw', ['', '', 'quorum']],
  ['dw', ['', '', 'one', 'quorum', 'all']],
  ['node_confirms', ['', '', 'quorum']],
];

const readNeeds: readonly NeedProperty[] = ['r', 'pr', 'node_confirms'];

/** The value of the setting `bucket_needs`, by a number of the seed, so that no other draw depends on it; empty: none. */
export function bucketNeedsFrom(number: number): string {
  let draws = number;
  const next = (count: number): number => {
    const draw = draws % count;
    draws = Math.floor(draws / count);
    return draw;
  };
  if (next(runsFor) !== 0) return '';
  // An absence takes more answers than a read only where few of them are enough for the read.
  const confirms = next(3) === 0;
  const drawn: string[] = [];
  for (const [name, values] of words) {
    const value = values[next(values.length)] ?? '';
    if (confirms && readNeeds.includes(name)) continue;
    if (value !== '') drawn.push(`${name}=${value}`);
  }
  if (confirms) drawn.push('r=one', 'notfound_ok=false');
  if (next(2) === 1) drawn.push('basic_quorum=true');
  return drawn.join(' ');
}
