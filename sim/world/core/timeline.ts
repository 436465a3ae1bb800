/**
 * Virtual time and the events in it. A step takes events from the agenda until one of them may have run code of the
 * engine or of the runner. The driver (`driver.ts`) then lets all promises settle before the next step. Time jumps to
 * the next event; between two steps nothing runs.
 */
import { assert } from '../../../engine/base/assert.ts';
import type { Ticket } from './agenda.ts';
import { Agenda } from './agenda.ts';

/** Something that will happen at an instant. */
export interface TimelineEvent {
  /** The incarnation that the event belongs to: its end forgets the event. Undefined for the world's own events. */
  readonly owner: object | undefined;
  /** Happens. Returns true if code outside the world may have run, whose promises must settle before the next event. */
  happen(): boolean;
}

/** Time no longer moves: events of one instant create each other without end. */
export class StandstillError extends Error {
  override readonly name = 'StandstillError';
}

/** More events than this in one instant cannot be a coincidence. */
const sameInstantMax = 1_000_000;

/** The virtual time of one world. */
export class Timeline {
  readonly #agenda = new Agenda<TimelineEvent>();
  #nowUs = 0;
  #count = 0;
  /** The number of events before the present instant. */
  #countBefore = 0;

  /** Virtual time since the beginning, in whole microseconds. */
  get nowUs(): number {
    return this.#nowUs;
  }

  /** The number of events so far. Two calls that read the same number belong to one event. */
  get count(): number {
    return this.#count;
  }

  /** The instant of the next event; Infinity if none is left. */
  get nextUs(): number {
    return this.#agenda.nextUs;
  }

  schedule(atUs: number, event: TimelineEvent): Ticket {
    return this.#agenda.schedule(atUs > this.#nowUs ? atUs : this.#nowUs, event);
  }

  /** Schedules an action of the world itself in `us` microseconds. */
  after(us: number, act: () => void): Ticket {
    const happen = (): boolean => {
      act();
      return false;
    };
    return this.schedule(this.#nowUs + us, { owner: undefined, happen });
  }

  cancel(ticket: Ticket): void {
    this.#agenda.cancel(ticket);
  }

  /** Forgets every event that belongs to an owner. */
  forget(owner: object): void {
    this.#agenda.cancelWhere((event) => event.owner === owner);
  }

  /**
   * Runs the events due up to `untilUs`, until one may have run code outside the world. Returns false if none is left
   * before then; the time is then `untilUs`. Throws `StandstillError`, and whatever an event throws.
   */
  step(untilUs: number): boolean {
    for (;;) {
      const nextUs = this.#agenda.nextUs;
      if (nextUs > untilUs) {
        if (untilUs !== Infinity && untilUs > this.#nowUs) this.#nowUs = untilUs;
        return false;
      }
      const event = this.#agenda.take();
      assert(event !== undefined && nextUs >= this.#nowUs, 'time moves forward');
      if (nextUs > this.#nowUs) this.#countBefore = this.#count;
      else if (this.#count - this.#countBefore > sameInstantMax) throw new StandstillError(`at ${nextUs} us`);
      this.#nowUs = nextUs;
      this.#count += 1;
      if (event.happen()) return true;
    }
  }
}
