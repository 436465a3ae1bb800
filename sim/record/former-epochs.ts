/** Finds copies that nodes wrote under an epoch of their bucket that a flush had ended. Pure: it reads recordings. */
import { placeOf, seconds } from './places.ts';
import type { Recording } from './recording.ts';

/** Most copies that are shown. */
const copiesMax = 2;

/** A sentence about such copies before the violation: of the keys concerned, or, without these, of any. */
export function formerEpochsOf(run: Recording): readonly string[] {
  const { states, subjects, concern } = run;
  const endUs = concern?.atUs ?? 0;
  const former = states.filter((state) => state.former === true && state.atUs <= endUs);
  const concerned = former.filter(({ key }) => concern?.subjects.includes(key) === true);
  const told = (concerned.length > 0 ? concerned : former).slice(-copiesMax).map(({ lane, atUs, key }) => {
    return `at ${seconds(atUs)} ${placeOf(run, lane)} writes ${subjects[key] ?? ''} under an epoch that a flush had ended, although it had written other keys of that bucket under the later one`;
  });
  return told.length === 0 ? [] : [`Flushed epochs: ${told.join('; ')}.`];
}
