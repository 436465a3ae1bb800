/**
 * The sentence of a log event for people, from its name and its fields: `store.segment.rotated` with `segment: 7` reads
 * "store: segment rotated (segment 7)". The names are dotted words with the module first and what happened last, so no
 * table of sentences has to be kept beside them. An event that has a `detail` shows it instead of the other fields.
 */
import type { LogFields } from '../io/log.ts';

/** The longest message, in characters; the rest of a longer one is cut. */
const charsMax = 300;

/** The message of an event. */
export function messageOf(name: string, fields: LogFields): string {
  const [first = '', ...rest] = name.split('.');
  const text = `${first}: ${rest.join(' ')}`;
  const { detail } = fields;
  const more =
    detail === undefined
      ? Object.entries(fields).map(([field, value]) => `${field} ${String(value)}`)
      : [String(detail)];
  const whole = more.length === 0 ? text : `${text} (${more.join(', ')})`;
  return whole.length <= charsMax ? whole : `${whole.slice(0, charsMax - 1)}…`;
}
