/**
 * A recording, indexed for drawing: its events in order, when nodes were down, and the causal cone of the violation.
 * Pure.
 */
import type { Mark, Message, Recording } from '../../sim/record/recording.ts';

/** One instant of the run, as the list of events shows it; `textOf` makes its words. */
export interface TimelineEvent {
  readonly atUs: number;
  readonly lane: number;
  readonly source: 'mark' | 'sent' | 'arrived' | 'invoked' | 'completed';
  /** Index into the recording's marks, messages or operations. */
  readonly index: number;
}

/** How a message is drawn under a filter. */
export type Strength = 'hidden' | 'dim' | 'full';
const strengths: readonly Strength[] = ['hidden', 'dim', 'full'];

/** What of the run the violation depends on. */
export interface Cone {
  /** For each lane the last instant that may have contributed; -1: none. */
  readonly untilUs: readonly number[];
  /** Messages of the cone, by index; those about what the violation is about. */
  readonly messages: ReadonlySet<number>;
  readonly related: ReadonlySet<number>;
}

/** A period in which a host was down or stood still. */
export interface Outage {
  readonly lane: number;
  readonly fromUs: number;
  readonly toUs: number;
  readonly kind: 'down' | 'paused';
}

/** What is drawn; an empty set of lanes, kinds or subjects draws all. */
export interface Filter {
  readonly lanes: ReadonlySet<number>;
  readonly kinds: ReadonlySet<number>;
  readonly subjects: ReadonlySet<number>;
  readonly fault: string;
  readonly cone: 'off' | 'related' | 'all';
}

/** The indexed recording. */
export class Model {
  readonly recording: Recording;
  readonly endUs: number;
  readonly stormUs: number;
  readonly cone: Cone;
  readonly outages: readonly Outage[];
  readonly concerned: ReadonlySet<number>;
  /** The recording's messages and marks by time. */
  readonly messageTimes: TimeIndex;
  readonly markTimes: TimeIndex;
  #events: readonly TimelineEvent[] | undefined;
  /** For each message the index of its strength under the filter that was asked last. */
  #strengths: { readonly filter: Filter; readonly of: Uint8Array } | undefined;

  constructor(recording: Recording) {
    this.recording = recording;
    this.endUs = Math.max(1, recording.result.virtualUs);
    this.stormUs = recording.phases.find(({ name }) => name === 'storm')?.atUs ?? 0;
    this.concerned = new Set(recording.concern?.subjects ?? []);
    this.cone = coneOf(recording, this.concerned);
    this.outages = outagesOf(recording, this.endUs);
    const { messages, marks } = recording;
    const sent = messages.map(({ sentUs }) => sentUs);
    const marked = marks.map(({ atUs }) => atUs);
    this.messageTimes = new TimeIndex(sent, messages.map(endOf));
    this.markTimes = new TimeIndex(marked, marked);
  }

  /** How a message is drawn; found for all messages at the first question about a filter. */
  strengthOf(index: number, filter: Filter): Strength {
    if (this.#strengths?.filter !== filter) {
      const of = Uint8Array.from(this.recording.messages, (message, at) => {
        if (!this.shows(message, filter)) return strengths.indexOf('hidden');
        return strengths.indexOf(this.#dims(at, filter) ? 'dim' : 'full');
      });
      this.#strengths = { filter, of };
    }
    return strengths[this.#strengths.of[index] ?? 0] ?? 'hidden';
  }

  /** All events in order; made at the first use, because the first frame does not need them. */
  get events(): readonly TimelineEvent[] {
    return (this.#events ??= eventsOf(this.recording));
  }

  /** Whether something about these subjects is drawn at full strength. */
  isAbout(about: readonly number[], { subjects }: Filter): boolean {
    return subjects.size === 0 || about.some((subject) => subjects.has(subject));
  }

  /** Whether a message passes the filter. */
  shows(message: Message, filter: Filter): boolean {
    const { lanes, kinds } = filter;
    if (lanes.size > 0 && !(lanes.has(message.from) && lanes.has(message.to))) return false;
    if (kinds.size > 0 && !kinds.has(message.kind)) return false;
    return this.isAbout(message.about, filter);
  }

  /** Whether a message is dimmed: outside the cone that the filter asks for. */
  #dims(index: number, { cone }: Filter): boolean {
    if (cone === 'off' || this.recording.concern === undefined) return false;
    return !(cone === 'all' ? this.cone.messages : this.cone.related).has(index);
  }

  /** Whether a mark is dimmed. */
  dimsMark(mark: Mark, { cone }: Filter): boolean {
    if (cone === 'off' || this.recording.concern === undefined) return false;
    if (mark.atUs > (this.cone.untilUs[mark.lane] ?? -1)) return true;
    const befalls = mark.kind === 'crash' || mark.kind === 'start' || mark.kind === 'fault';
    return cone === 'related' && !befalls && !mark.about.some((one) => this.concerned.has(one));
  }

  /** What each node holds of a key at an instant: the last state at or before it. */
  heldAt(key: number, atUs: number): ReadonlyMap<number, string> {
    const held = new Map<number, string>();
    for (const state of this.recording.states) {
      if (state.atUs > atUs) break;
      if (state.key === key) held.set(state.lane, state.text);
    }
    return held;
  }

  /** The index of the last event at or before an instant; -1: there is none. */
  eventAt(atUs: number): number {
    const { events } = this;
    let [low, high] = [0, events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((events[middle]?.atUs ?? 0) <= atUs) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/**
 * Finds what lies in a span of time among items that are mostly, but not wholly, in its order: a message that a fault
 * sent again follows later ones.
 */
export class TimeIndex {
  /** For each item the latest end of it and of those before it, and the earliest begin of it and of those after it. */
  readonly #endsMax: Float64Array;
  readonly #beginsMin: Float64Array;

  /** When each item begins, and when it ends. */
  constructor(begins: readonly number[], ends: readonly number[]) {
    this.#endsMax = Float64Array.from(ends);
    this.#beginsMin = Float64Array.from(begins);
    for (let at = 1; at < ends.length; at++) {
      this.#endsMax[at] = Math.max(this.#endsMax[at] ?? 0, this.#endsMax[at - 1] ?? 0);
    }
    for (let at = begins.length - 2; at >= 0; at--) {
      this.#beginsMin[at] = Math.min(this.#beginsMin[at] ?? 0, this.#beginsMin[at + 1] ?? 0);
    }
  }

  /** Indexes from `from` to before `to`: no item outside of them lies in the span. */
  within(fromUs: number, toUs: number): { readonly from: number; readonly to: number } {
    const from = firstIndex(this.#endsMax, (endUs) => endUs >= fromUs);
    return { from, to: firstIndex(this.#beginsMin, (beginUs) => beginUs > toUs) };
  }
}

/** The index of the first of ascending numbers that is far enough; their number if none is. */
function firstIndex(ascending: Float64Array, isFar: (one: number) => boolean): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isFar(ascending[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** When a message arrived, or, if it never did, was sent. */
function endOf({ sentUs, arrivedUs }: Message): number {
  return arrivedUs < 0 ? sentUs : arrivedUs;
}

/** One event in words. */
export function textOf({ source, index }: TimelineEvent, recording: Recording): string {
  const { marks, messages, operations } = recording;
  if (source === 'mark') return marks[index]?.text ?? '';
  if (source === 'sent' || source === 'arrived') {
    const message = messages[index];
    if (message === undefined) return '';
    return `${source === 'sent' ? 'sends' : 'receives'} ${describeMessage(recording, message)}`;
  }
  const { text, outcome } = operations[index] ?? { text: '', outcome: '' };
  return source === 'invoked' ? `asks ${text.split(': ', 1)[0] ?? text}` : `${outcome}: ${text}`;
}

/** One message in words. */
export function describeMessage(recording: Recording, message: Message): string {
  const [from, to] = [recording.lanes[message.from]?.name, recording.lanes[message.to]?.name];
  const about = message.about.map((one) => recording.subjects[one]).join(' ');
  const took = message.arrivedUs - message.sentUs;
  const fate = message.arrivedUs < 0 ? 'never arrived' : `arrived after ${(took / 1000).toFixed(3)} ms`;
  const again = message.again === true ? ', a copy' : '';
  const what = `${recording.messageKinds[message.kind] ?? 'message'} ${from ?? ''} → ${to ?? ''}`;
  const says = message.detail === undefined ? '' : `: ${message.detail}`;
  return `${what}${about === '' ? '' : ` (${about})`}${says}, ${message.bytes} bytes, ${fate}${again}`;
}

/** Messages in the causal past of the violation: backwards from where and when it was seen. */
function coneOf(recording: Recording, concerned: ReadonlySet<number>): Cone {
  const { concern, lanes, messages, operations } = recording;
  const untilUs = lanes.map(() => -1);
  const inside = new Set<number>();
  const related = new Set<number>();
  if (concern === undefined) return { untilUs, messages: inside, related };
  const seeds = [...concern.lanes, ...concern.operations.map((at) => operations[at]?.lane ?? -1)];
  const nodes = lanes.flatMap(({ kind }, at) => (kind === 'node' ? [at] : []));
  for (const lane of seeds.some((one) => one >= 0) ? seeds : nodes) {
    if (lane >= 0) untilUs[lane] = concern.atUs;
  }
  const order = messages.map((_, index) => index).filter((index) => arrivedOf(messages[index]) >= 0);
  order.sort((left, right) => arrivedOf(messages[right]) - arrivedOf(messages[left]));
  for (const index of order) {
    const message = messages[index];
    if (message === undefined || message.arrivedUs > (untilUs[message.to] ?? -1)) continue;
    inside.add(index);
    untilUs[message.from] = Math.max(untilUs[message.from] ?? -1, message.sentUs);
    if (message.about.some((one) => concerned.has(one))) related.add(index);
  }
  addLost(recording, concerned, untilUs, related);
  addClients(recording, inside, related);
  return { untilUs, messages: inside, related };
}

/** Messages about the same subjects that never arrived: their absence may be the cause. */
function addLost(
  { messages }: Recording,
  concerned: ReadonlySet<number>,
  untilUs: readonly number[],
  related: Set<number>,
): void {
  for (const [index, message] of messages.entries()) {
    if (message.arrivedUs >= 0 || message.sentUs > (untilUs[message.from] ?? -1)) continue;
    if (message.about.some((one) => concerned.has(one))) related.add(index);
  }
}

/** What clients sent and received during the concerned operations; their bytes name no keys. */
function addClients(
  { concern, messages, operations }: Recording,
  inside: ReadonlySet<number>,
  related: Set<number>,
): void {
  for (const at of concern?.operations ?? []) {
    const operation = operations[at];
    if (operation === undefined) continue;
    const endUs = operation.completedUs < 0 ? Infinity : operation.completedUs;
    for (const [index, { from, to, sentUs }] of messages.entries()) {
      const own = from === operation.lane || to === operation.lane;
      if (own && sentUs >= operation.invokedUs && sentUs <= endUs && inside.has(index)) related.add(index);
    }
  }
}

function arrivedOf(message: Message | undefined): number {
  return message?.arrivedUs ?? -1;
}

function outagesOf({ marks, lanes }: Recording, endUs: number): readonly Outage[] {
  const outages: Outage[] = [];
  for (const lane of lanes.keys()) {
    let down: number | undefined;
    let paused: number | undefined;
    for (const { kind, atUs, lane: at } of marks) {
      if (at !== lane) continue;
      if (kind === 'crash' || kind === 'stop') down ??= atUs;
      if (kind === 'pause') paused ??= atUs;
      const resumes = kind === 'resume' || kind === 'crash';
      if (resumes && paused !== undefined) {
        outages.push({ lane, fromUs: paused, toUs: atUs, kind: 'paused' });
        paused = undefined;
      }
      if (kind === 'start' && down !== undefined) {
        outages.push({ lane, fromUs: down, toUs: atUs, kind: 'down' });
        down = undefined;
      }
    }
    if (down !== undefined) outages.push({ lane, fromUs: down, toUs: endUs, kind: 'down' });
  }
  return outages;
}

function eventsOf({ marks, messages, operations }: Recording): readonly TimelineEvent[] {
  const events: TimelineEvent[] = [];
  for (const [index, { atUs, lane }] of marks.entries()) events.push({ atUs, lane, source: 'mark', index });
  for (const [index, { from, to, sentUs, arrivedUs }] of messages.entries()) {
    events.push({ atUs: sentUs, lane: from, source: 'sent', index });
    if (arrivedUs >= 0) events.push({ atUs: arrivedUs, lane: to, source: 'arrived', index });
  }
  for (const [index, { invokedUs, completedUs, lane }] of operations.entries()) {
    events.push({ atUs: invokedUs, lane, source: 'invoked', index });
    if (completedUs >= 0) events.push({ atUs: completedUs, lane, source: 'completed', index });
  }
  return events.sort((left, right) => left.atUs - right.atUs);
}
