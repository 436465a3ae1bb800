/**
 * Marks of a run: a few hundred characters from which a later run of the plan can say at which event it differs. A mark
 * is the state of a hash over the trace up to an event, reduced to one character; there is one for every so many
 * events. A later run that differs has other marks from there on (one mark in 64 is equal by accident, so the place is
 * right in 98 of 100 cases, and otherwise too late by one mark).
 */
import type { Plan, RecordedRun } from '../plan/plan.ts';
import { describeEvent } from '../world/core/trace.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import type { World } from '../world/world.ts';
import { runPlan } from './run.ts';

/** The marks of one run. */
export type Marks = Pick<RecordedRun, 'events' | 'every' | 'marks'>;

/** Most marks; beyond them every other one is dropped. */
const marksMax = 1024;
/** Most lines of the trace that are shown of the place where a run differs. */
const linesMax = 3;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Runs the plan and marks its run. Throws what the run throws. */
export async function marksOf(plan: Plan): Promise<Marks> {
  const collector = new MarkCollector();
  await runPlan(plan, { unobserved: true, attach: (world) => collector.attach(world) });
  return collector.marks;
}

/** Where a run differs from the recorded one. */
export interface Divergence {
  /** Both runs are equal up to this event of the trace, counted from 1; 0: they differ from the first on. */
  readonly equalEvents: number;
  /** The runs differ at the latest at this event. */
  readonly event: number;
  /** Virtual time of `event`, in microseconds. */
  readonly atUs: number;
  /** The first events of this run after `equalEvents`; empty if the run ended before. */
  readonly lines: readonly string[];
}

/** Hashes a trace, event by event (FNV-1a, 32 bits). */
class TraceHash {
  events = 0;
  #state = 0x811c9dc5;

  add(line: string): void {
    this.events += 1;
    let state = this.#state;
    for (let at = 0; at < line.length; at++) state = Math.imul(state ^ line.charCodeAt(at), 0x01000193);
    this.#state = state;
  }

  /** One character for the state: from its upper bits, which mix best. */
  get character(): string {
    return alphabet[this.#state >>> 26] ?? '';
  }
}

class MarkCollector {
  readonly #hash = new TraceHash();
  #every = 1;
  #marks: string[] = [];

  attach(world: World): void {
    world.trace.on('*', (event) => this.#add(event));
  }

  get marks(): Marks {
    return { events: this.#hash.events, every: this.#every, marks: this.#marks.join('') };
  }

  #add(event: TraceEvent): void {
    this.#hash.add(describeEvent(event));
    if (this.#hash.events % this.#every !== 0) return;
    this.#marks.push(this.#hash.character);
    if (this.#marks.length <= marksMax) return;
    this.#every *= 2;
    this.#marks = this.#marks.filter((_, at) => at % 2 === 1);
  }
}

/** Compares a run with the recorded one while it happens. It only looks. */
export class DivergenceWatch {
  readonly #recorded: Marks;
  readonly #hash = new TraceHash();
  /** The events since the last equal mark. */
  #lines: string[] = [];
  #equalEvents = 0;
  #atUs = 0;
  #divergence: Divergence | undefined;

  constructor(recorded: Marks) {
    this.#recorded = recorded;
  }

  attach(world: World): void {
    world.trace.on('*', (event) => this.#compare(event));
  }

  /** Where the run differs, once it is over; undefined: it is the recorded one. */
  get divergence(): Divergence | undefined {
    const { events } = this.#hash;
    if (this.#divergence !== undefined || events === this.#recorded.events) return this.#divergence;
    return this.#differsAt(events);
  }

  #compare(event: TraceEvent): void {
    if (this.#divergence !== undefined) return;
    const line = describeEvent(event);
    this.#hash.add(line);
    this.#atUs = event.atUs;
    if (this.#lines.length < linesMax) this.#lines.push(line);
    const { events } = this.#hash;
    const { every, marks } = this.#recorded;
    if (events > this.#recorded.events) this.#divergence = this.#differsAt(events);
    if (events % every !== 0) return;
    if (marks[events / every - 1] !== this.#hash.character) {
      this.#divergence ??= this.#differsAt(events);
      return;
    }
    this.#equalEvents = events;
    this.#lines = [];
  }

  #differsAt(event: number): Divergence {
    return { equalEvents: this.#equalEvents, event, atUs: this.#atUs, lines: this.#lines };
  }
}
