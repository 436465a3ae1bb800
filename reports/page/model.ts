/**
 * A recording, indexed for drawing: its events in order, when nodes were down, and the causal cone of the violation.
 * Pure.
 */
import type { Mark, Message, RecordedOperation, Recording } from '../../sim/record/recording.ts';

/** One instant of the run, as the list of events shows it. */
export interface TimelineEvent {
  readonly atUs: number;
  readonly lane: number;
  readonly text: string;
  readonly source: 'mark' | 'sent' | 'arrived' | 'invoked' | 'completed';
  /** Index into the recording's marks, messages or operations. */
  readonly index: number;
}

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
  #events: readonly TimelineEvent[] | undefined;

  constructor(recording: Recording) {
    this.recording = recording;
    this.endUs = Math.max(1, recording.result.virtualUs);
    this.stormUs = recording.phases.find(({ name }) => name === 'storm')?.atUs ?? 0;
    this.concerned = new Set(recording.concern?.subjects ?? []);
    this.cone = coneOf(recording, this.concerned);
    this.outages = outagesOf(recording, this.endUs);
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
  dims(index: number, { cone }: Filter): boolean {
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

/** One message in words. */
export function describeMessage(recording: Recording, message: Message): string {
  const [from, to] = [recording.lanes[message.from]?.name, recording.lanes[message.to]?.name];
  const about = message.about.map((one) => recording.subjects[one]).join(' ');
  const took = message.arrivedUs - message.sentUs;
  const fate = message.arrivedUs < 0 ? 'never arrived' : `arrived after ${(took / 1000).toFixed(3)} ms`;
  const again = message.again === true ? ', a copy' : '';
  const what = `${recording.messageKinds[message.kind] ?? 'message'} ${from ?? ''} → ${to ?? ''}`;
  return `${what}${about === '' ? '' : ` (${about})`}, ${message.bytes} bytes, ${fate}${again}`;
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

function eventsOf(recording: Recording): readonly TimelineEvent[] {
  const { marks, messages, operations } = recording;
  const events: TimelineEvent[] = [];
  for (const [index, { atUs, lane, text }] of marks.entries()) {
    events.push({ atUs, lane, text, source: 'mark', index });
  }
  for (const [index, message] of messages.entries()) {
    const text = describeMessage(recording, message);
    events.push({ atUs: message.sentUs, lane: message.from, text: `sends ${text}`, source: 'sent', index });
    if (message.arrivedUs < 0) continue;
    const arrives = `receives ${text}`;
    events.push({ atUs: message.arrivedUs, lane: message.to, text: arrives, source: 'arrived', index });
  }
  for (const [index, operation] of operations.entries()) events.push(...eventsOfOperation(operation, index));
  return events.sort((left, right) => left.atUs - right.atUs);
}

function eventsOfOperation(operation: RecordedOperation, index: number): readonly TimelineEvent[] {
  const { invokedUs, completedUs, lane, text, outcome } = operation;
  const [before = text] = text.split(': ', 1);
  const invoked = { atUs: invokedUs, lane, text: `asks ${before}`, source: 'invoked', index } as const;
  if (completedUs < 0) return [invoked];
  return [invoked, { atUs: completedUs, lane, text: `${outcome}: ${text}`, source: 'completed', index }];
}
