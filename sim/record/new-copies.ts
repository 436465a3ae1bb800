/**
 * Which nodes had a write's value on their disks when the client had its answer, synced or not; what else they hold of
 * its key, and where that came from. Pure: it reads recordings.
 */
import { handleOf, listOf, placeOf, seconds } from './places.ts';
import { lostValuesOf } from './lost-values.ts';
import type { HeldState, RecordedOperation, Recording } from './recording.ts';

/** Most later states of copies that are shown, and most characters of each. */
const laterMax = 4;
const heldMax = 60;
/** A message that brought a value came so long before, in microseconds. */
const broughtUs = 5000;
const bringers = ['mergeObject', 'mergeMany'];

/** The sentences about a key's copies at the answer of `write`; without a write, at the violation. */
export function newCopies(run: Recording, key: number, write: RecordedOperation | undefined): string {
  const endUs = run.concern?.atUs ?? 0;
  const isAnswered = write !== undefined && write.completedUs >= 0;
  const answerUs = isAnswered ? write.completedUs : endUs;
  const held = run.states.filter((state) => state.key === key && state.atUs <= endUs);
  const tag = write === undefined ? undefined : tagOf(run, write, held);
  const isOwn = ({ text }: HeldState): boolean => tag === undefined || text.includes(tag);
  const fresh = held.filter(({ atUs }) => atUs >= (write?.invokedUs ?? 0) && atUs <= answerUs);
  const written = new Map(fresh.filter(isOwn).map(({ lane, atUs }) => [lane, atUs]));
  const others = new Map(fresh.filter(({ lane }) => !written.has(lane)).map((state) => [state.lane, state]));
  const place = (lane: number): string => placeOf(run, lane);
  const synced = [...written].filter(([lane, atUs]) => isSynced(run, lane, atUs, answerUs));
  const unsynced = [...written].filter(([lane, atUs]) => !isSynced(run, lane, atUs, answerUs));
  const lost = write === undefined ? [] : lostValuesOf(run, write).map(({ lane }) => lane);
  const later = held
    .filter(({ atUs, lane }) => atUs > answerUs && !lost.includes(lane))
    .slice(-laterMax)
    .map(({ lane, atUs, text }) => `from ${seconds(atUs)} on ${place(lane)} holds ${shortOf(text)}`);
  const parts = [
    synced.length === 0 ? 'synced at no node' : `synced at ${listOf(synced.map(([lane]) => place(lane)))}`,
    unsynced.length === 0 ? '' : `written and not synced at ${listOf(unsynced.map(([lane]) => place(lane)))}`,
    ...[...others.values()].map(
      ({ lane, text }) => `${place(lane)} writes another value meanwhile, and holds ${shortOf(text)}`,
    ),
    ...later,
  ].filter(Boolean);
  const near = write === undefined ? '' : inDatacenterOf(run, write.node, synced);
  const when = isAnswered ? `when the client has its answer (${seconds(answerUs)})` : 'at that moment';
  const origins = [...others.values()].map((state) => originOf(run, state));
  return [
    `New copies of ${run.subjects[key] ?? ''} ${when}: ${parts.join('; ')}.${near}`,
    ...new Set(origins),
  ]
    .filter(Boolean)
    .join(' ');
}

/** What names the write's value in all copies of it; undefined if no copy has it, as after a deletion. */
function tagOf(run: Recording, write: RecordedOperation, held: readonly HeldState[]): string | undefined {
  const number = /^#(t\d+)$/.exec(write.id)?.[1];
  const tag =
    number === undefined
      ? /«[^»]+»/.exec(write.text)?.[0]
      : `«w:${run.lanes[write.lane]?.name ?? ''}:${number}.`;
  return tag !== undefined && held.some(({ text }) => text.includes(tag)) ? tag : undefined;
}

/** Which operation wrote a value that is not the write's, and how it came to the node. */
function originOf(run: Recording, { lane, key, text, atUs }: HeldState): string {
  const tag = /«[^»]+»/.exec(text)?.[0];
  if (tag === undefined) return '';
  const [, client = '', number = ''] = /^«w:([^:]+):(\w+)/.exec(tag) ?? [];
  const writer = run.operations.find(
    (one) => run.lanes[one.lane]?.name === client && (one.text.includes(tag) || one.id === `#${number}`),
  );
  const first = run.states.find(
    (state) => state.lane === lane && state.key === key && state.text.includes(tag),
  );
  const firstUs = first?.atUs ?? atUs;
  const bringer = run.messages.findLast(
    ({ from, to, kind, about, arrivedUs }) =>
      to === lane &&
      run.lanes[from]?.kind === 'node' &&
      about.includes(key) &&
      bringers.includes(run.messageKinds[kind] ?? '') &&
      arrivedUs >= firstUs - broughtUs &&
      arrivedUs <= firstUs,
  );
  if (bringer === undefined) return '';
  const who = writer === undefined ? 'a write' : `${handleOf(run, writer)} (${writer.outcome})`;
  const sender = placeOf(run, bringer.from);
  const ofSender = run.states.filter(
    (state) => state.lane === bringer.from && state.key === key && state.text.includes(tag),
  );
  const isHeld = ofSender.some((state) => state.atUs <= bringer.sentUs);
  const never = ofSender.length === 0 ? ', whose own disk never holds it' : '';
  const before = ofSender.length > 0 && !isHeld ? ', whose own disk does not hold it yet' : '';
  return `${tag}, of ${who}, comes from ${sender}${never}${before}.`;
}

/** `«w:c0:1»` of a state's text, without its size. */
function shortOf(text: string): string {
  return text.replace(/ \(\d+ bytes\)$/, '').slice(0, heldMax);
}

/** Where there are several datacenters: how many of the nodes stand in that of the node that the client asked. */
function inDatacenterOf(
  run: Recording,
  asked: number,
  synced: readonly (readonly [number, number])[],
): string {
  const { plan, lanes } = run;
  const datacenterOf = (lane: number): string | undefined =>
    plan.nodes.find(({ name }) => name === lanes[lane]?.name)?.datacenter;
  const here = datacenterOf(asked);
  if (here === undefined || plan.nodes.every(({ datacenter }) => datacenter === here)) return '';
  const near = synced.filter(([lane]) => datacenterOf(lane) === here).length;
  const name = lanes[asked]?.name ?? '';
  return ` In ${here}, where ${name} stands, which the client asked: ${near} of these ${synced.length} synced copies.`;
}

/** Whether the node has synced a file of its store between the two instants. */
function isSynced({ marks }: Recording, lane: number, fromUs: number, toUs: number): boolean {
  return marks.some(
    (mark) =>
      mark.kind === 'sync' &&
      mark.lane === lane &&
      mark.atUs >= fromUs &&
      mark.atUs <= toUs &&
      /what=store\/\d+\.log/.test(mark.text),
  );
}
