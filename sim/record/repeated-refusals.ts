/** Finds what nodes refuse again and again until a violation. Pure: it reads recordings. */
import { fieldsOf } from './event-words.ts';
import type { Mark, Recording } from './recording.ts';

/** A refusal that came so often, and so shortly before the violation (in microseconds), goes on for ever. */
const timesMin = 5;
const lastWithinUs = 3_000_000;

/** A refusal, its last event, and how often it came since when. */
export interface RepeatedRefusal {
  readonly mark: Mark;
  readonly count: number;
  readonly sinceUs: number;
}

/** Names of events by which a node refuses a peer, or what a peer says; a full or closed channel is their effect. */
const refusals = /^(membership|peer|ring|changes|transfer)\.[\w.]*(refused|rejected|waiting|held)$/;

/** The repeated refusals at the violation, those at nodes that it names first, then the most frequent. */
export function repeatsOf({ marks, concern }: Recording): readonly RepeatedRefusal[] {
  if (concern === undefined) return [];
  const found = new Map<string, { mark: Mark; count: number; readonly sinceUs: number }>();
  for (const mark of marks) {
    if (mark.atUs > concern.atUs) break;
    const [event = '', ...rest] = mark.text.split(' ');
    if (!refusals.test(event)) continue;
    const fields = fieldsOf(rest.join(' '));
    const name = [mark.lane, event, fields.get('peer'), fields.get('reason'), fields.get('by')].join(' ');
    const known = found.get(name);
    if (known === undefined) found.set(name, { mark, count: 1, sinceUs: mark.atUs });
    else [known.mark, known.count] = [mark, known.count + 1];
  }
  const isNamed = ({ mark }: RepeatedRefusal): number => (concern.lanes.includes(mark.lane) ? 1 : 0);
  return [...found.values()]
    .filter(({ mark, count }) => count >= timesMin && mark.atUs >= concern.atUs - lastWithinUs)
    .toSorted((left, right) => isNamed(right) - isNamed(left) || right.count - left.count);
}
