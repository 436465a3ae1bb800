/**
 * What may lie behind a counter that differs from the truth: what clients asked the node, and which messages it lost,
 * between the last instant at which the counter was right and the first at which it is wrong. Pure.
 */
import { handleOf, placeOf, seconds } from './places.ts';
import type { CounterRow, RecordedOperation, Recording } from './recording.ts';

/** Most groups of operations, most operations of a group that are named, most kinds of lost messages. */
const groupsMax = 5;
const namedMax = 4;
const lostMax = 3;

/** The sentence about that time; none where nothing happened. */
export function behindCounter(run: Recording, row: CounterRow): readonly string[] {
  const told = clausesOf(run, row);
  const { heldUs = 0, lane } = row;
  const since = heldUs > 0 ? `Since it was last right (${seconds(heldUs)})` : 'Until then';
  return told.length === 0 ? [] : [`${since} ${placeOf(run, lane)} had: ${told.join('; ')}.`];
}

function clausesOf(run: Recording, row: CounterRow): readonly string[] {
  const fromUs = row.heldUs ?? 0;
  const isWithin = ({ invokedUs, completedUs }: RecordedOperation): boolean =>
    invokedUs <= row.atUs && (completedUs < 0 || completedUs >= fromUs);
  const asked = run.operations.filter((one) => one.node === row.lane && isWithin(one));
  return [...operationGroups(run, asked), ...lostMessages(run, row.lane, fromUs, row.atUs)];
}

/** `2 put unknown (no answer): #14 c2, #17 c0`: what did not succeed first, then what is rare. */
function operationGroups(run: Recording, asked: readonly RecordedOperation[]): readonly string[] {
  const groups = new Map<string, RecordedOperation[]>();
  for (const one of asked) {
    const name = `${kindOf(one)} ${endOf(one)}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [one]);
    else group.push(one);
  }
  const isBad = ([first]: readonly RecordedOperation[]): number => (first?.outcome === 'ok' ? 0 : 1);
  return [...groups]
    .toSorted(([, left], [, right]) => isBad(right) - isBad(left) || left.length - right.length)
    .slice(0, groupsMax)
    .map(([name, group]) => {
      const names = group.slice(0, namedMax).map((one) => handleOf(run, one));
      return `${group.length} ${name}: ${names.join(', ')}${group.length > namedMax ? ', …' : ''}`;
    });
}

/** The third word of what clients did: `put`, `transfer`, `SET`. */
function kindOf({ text }: RecordedOperation): string {
  return text.split(' ', 3)[2] ?? '';
}

function endOf({ outcome, completedUs, text }: RecordedOperation): string {
  if (completedUs < 0) return 'without an answer';
  const reason = outcome === 'ok' ? undefined : /\(([^()]*)\)$/.exec(text)?.[1];
  return reason === undefined ? outcome : `${outcome} (${reason})`;
}

/** Requests and answers of the node that never arrived. */
function lostMessages(run: Recording, lane: number, fromUs: number, toUs: number): readonly string[] {
  const counts = new Map<string, number>();
  for (const { from, to, sentUs, arrivedUs, kind } of run.messages) {
    if (arrivedUs >= 0 || sentUs < fromUs || sentUs > toUs || (from !== lane && to !== lane)) continue;
    const word = run.messageKinds[kind] ?? '';
    if (word === 'gossip' || word === 'gossiped' || word === 'ping' || word === 'pong') continue;
    const name = `${word} of ${run.lanes[from]?.name ?? ''} to ${run.lanes[to]?.name ?? ''}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, lostMax)
    .map(([name, count]) => `${count} ${name} never arrived`);
}
