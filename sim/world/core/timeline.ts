/**
 * Virtual time and what happens in it. A step takes happenings from the agenda until one of them may have run code of
 * the engine or of the runner; whoever drives the steps then lets all promises settle before the next
 * (driver.ts), and time jumps. Between two steps nothing runs.
 */
import { assert } from '../../../engine/base/assert.ts';
import type { Ticket } from './agenda.ts';
import { Agenda } from './agenda.ts';

/** Something that will happen at an instant. */
export interface TimelineEvent {
  /** The life whose doings it is: a crash forgets what belongs to the life that it ends. Undefined for the world's own. */
  readonly owner: object | undefined;
  /** Happens. True when code outside the world may have run, so that its promises must settle before the next. */
  happen(): boolean;
}

/** Time does not move any more: happenings of one instant make each other, without end. */
export class StandstillError extends Error {
  override readonly name = 'StandstillError';
}

/** So many happenings of one instant are no coincidence. */
const sameInstantMax = 1_000_000;

export class Timeline {
  readonly #agenda = new Agenda<TimelineEvent>();
  #nowUs = 0;
  #count = 0;
  /** Happenings before the present instant. */
  #countBefore = 0;

  /** Virtual time since the beginning, whole microseconds. */
  get nowUs(): number {
    return this.#nowUs;
  }

  /** Happenings so far. Two calls that read the same number are of one event. */
  get count(): number {
    return this.#count;
  }

  /** The instant of the next happening; Infinity when nothing is left to happen. */
  get nextUs(): number {
    return this.#agenda.nextUs;
  }

  schedule(atUs: number, happening: TimelineEvent): Ticket {
    return this.#agenda.schedule(atUs > this.#nowUs ? atUs : this.#nowUs, happening);
  }

  /** Schedules what the world itself does in `us` microseconds. */
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

  /** Forgets everything that belongs to an owner. */
  forget(owner: object): void {
    this.#agenda.cancelWhere((happening) => happening.owner === owner);
  }

  /**
   * Lets happen what is due up to `untilUs`, until something may have run code outside the world. False when nothing
   * is left before then; it is `untilUs` then. Throws `StandstillError`, and whatever a happening throws.
   */
  step(untilUs: number): boolean {
    for (;;) {
      const nextUs = this.#agenda.nextUs;
      if (nextUs > untilUs) {
        if (untilUs !== Infinity && untilUs > this.#nowUs) this.#nowUs = untilUs;
        return false;
      }
      const happening = this.#agenda.take();
      assert(happening !== undefined && nextUs >= this.#nowUs, 'time moves forward');
      if (nextUs > this.#nowUs) this.#countBefore = this.#count;
      else if (this.#count - this.#countBefore > sameInstantMax) throw new StandstillError(`at ${nextUs} us`);
      this.#nowUs = nextUs;
      this.#count += 1;
      if (happening.happen()) return true;
    }
  }
}
