/**
 * What befell a member on which nodes' views of the ring differ: its starts, ends and replacements, and what the node
 * that leaves it out, or keeps it, has called it since. Pure: it reads recordings.
 */
import { deedOf, fieldsOf } from './event-words.ts';
import { placeOf, seconds } from './places.ts';
import type { Mark, Recording } from './recording.ts';

/** Two lists of members in a violation: `n3 calls n1 n3 the owners, not n1 n2 n3`. */
const listsForm = /^(\S+) calls ((?:\S+ )+)the owners, not ((?:\S+ ?)+)$/;
/** Most members whose history is shown, and most events of it: its own, and the node's view. */
const membersMax = 1;
const ownMax = 5;
const viewMax = 8;
/** What happens within this time is one event to people, in microseconds. */
const atOnceUs = 1000;

/** A sentence for a member in whom the two lists differ; none for other violations. */
export function memberHistories(run: Recording): readonly string[] {
  const [, node = '', named = '', right = ''] = listsForm.exec(run.concern?.text ?? '') ?? [];
  const [ours, theirs] = [named, right].map((list) => list.trim().split(' '));
  const lane = run.lanes.findIndex(({ name }) => name === node);
  if (lane < 0 || ours === undefined || theirs === undefined) return [];
  const missing = theirs.filter((name) => !ours.includes(name));
  const extra = ours.filter((name) => !theirs.includes(name));
  return [
    ...missing.map((member) => historyOf(run, { lane, member, verb: 'leaves out' })),
    ...extra.map((member) => historyOf(run, { lane, member, verb: 'still names' })),
  ].slice(0, membersMax);
}

interface Differing {
  readonly lane: number;
  readonly member: string;
  readonly verb: string;
}

function historyOf(run: Recording, { lane, member, verb }: Differing): string {
  const { marks, concern, lanes } = run;
  const own = lanes.findIndex(({ name }) => name === member);
  const before = marks.filter(({ atUs }) => atUs <= (concern?.atUs ?? 0));
  const namesIt = new RegExp(`\\b${member}\\b`);
  const events = before.filter(
    ({ kind, lane: at, text }) =>
      (at === own && (kind === 'crash' || kind === 'start' || kind === 'stop')) ||
      (kind === 'fault' && (at === own || namesIt.test(text))),
  );
  const told = onceEach(events)
    .slice(-ownMax)
    .map((mark) => `at ${seconds(mark.atUs)} ${placeOf(run, mark.lane)} ${deedOf(mark)}`);
  const view = before.filter(
    ({ lane: at, text }) =>
      at === lane &&
      (/^membership\.(peer\.|record\.|disowned)/.test(text) || text.startsWith('peer.inbound.admitted')) &&
      fieldsOf(text).get('peer') === member,
  );
  const node = placeOf(run, lane);
  const seen = inGroups(view.slice(-viewMax)).map(
    (group) => `at ${seconds(group[0]?.atUs ?? 0)} ${group.map(viewWords).join(' and at once ')}`,
  );
  const sawIt = seen.length === 0 ? '' : ` How ${node} sees ${member}: ${seen.join('; ')}.`;
  return `${member}, which ${node} ${verb}: ${told.length === 0 ? 'nothing befell it' : told.join('; ')}.${sawIt}`;
}

/** `it calls n2 JOINING`, without what it called it before. */
function viewWords(mark: Mark): string {
  const fields = fieldsOf(mark.text);
  if (mark.text.startsWith('peer.inbound.admitted'))
    return `admits its link (incarnation ${fields.get('epoch') ?? ''})`;
  if (mark.text.startsWith('membership.peer.state.changed')) return `calls it ${fields.get('to') ?? ''}`;
  return deedOf(mark);
}

/** A fault that strikes several hosts has a mark at each; it is described once. */
function onceEach(marks: readonly Mark[]): readonly Mark[] {
  const names = marks.map(({ atUs, kind, text }) => (kind === 'fault' ? text : `${kind} ${atUs}`));
  return marks.filter((_, at) => names.indexOf(names[at] ?? '') === at);
}

/** Marks that follow each other at once, together. */
function inGroups(marks: readonly Mark[]): readonly (readonly Mark[])[] {
  const groups: Mark[][] = [];
  for (const mark of marks) {
    const last = groups.at(-1);
    const lastUs = last?.at(-1)?.atUs;
    if (last !== undefined && lastUs !== undefined && mark.atUs - lastUs < atOnceUs) last.push(mark);
    else groups.push([mark]);
  }
  return groups;
}
