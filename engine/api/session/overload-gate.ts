/**
 * Refuses new requests of clients while the node is overloaded, judged by how long requests wait before they begin.
 *
 * Where the processor is saturated, requests wait for the event loop: each turn first works through all that arrived
 * during the turn before. So the length of a turn is the wait that its requests had, and the gate measures turns. A
 * burst makes some turns long; an overload makes all of them long. As CoDel does (Nichols and Jacobson, 2012), the gate
 * looks at the shortest wait within an interval: the node is overloaded if every turn of the last `intervalWaits` times
 * `waitUsMax` was longer than `waitUsMax`. One stall of the process, with its backlog, is no overload: there must have
 * been two such turns, or a second one that is longer than the first. Then each turn begins requests for `waitUsMax` and
 * refuses the rest of them, which costs little, however long the rest of the turn is: the node goes on working. So turns,
 * and with them waits, stay near `waitUsMax`. One short turn ends the overload.
 *
 * The gate measures nothing while no request comes, and costs one reading of the clock per request.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Clock, Timer } from '../../io/clock.ts';

/**
 * Requests that each turn begins, however long it takes: a few clients that wait for their answers are no overload,
 * whatever other processes do with the processor.
 */
const requestsMin = 64;
/** An overload lasts this many times `waitUsMax` before a request is refused. */
const intervalWaits = 4;

/** The gate of one node; all client listeners share it. */
export class OverloadGate {
  readonly #clock: Clock;
  /** 0: nothing is ever refused. */
  readonly #waitUsMax: number;
  /** When the present turn began, or its first request; undefined while no turn is measured. */
  #beganUs: number | undefined;
  /** Fires when the present turn ends. */
  #turnEnd: Timer | undefined;
  /** Requests that the present turn has begun, and when the first of them came. */
  #begun = 0;
  #firstUs = 0;
  /** Long turns since the last short one, and when the first of them began. */
  #longTurns = 0;
  #longSinceUs = 0;
  /** Length of the turn before the present one. */
  #lastUs = 0;
  readonly #error: LockstepError;

  /** `waitMsMax`: milliseconds; 0 switches the gate off. */
  constructor(clock: Clock, waitMsMax: number) {
    this.#clock = clock;
    this.#waitUsMax = waitMsMax * 1000;
    const detail = `requests wait longer than ${waitMsMax} ms at this node before they begin (client_wait_ms_max); try again later, or ask another node`;
    this.#error = new LockstepError('Overloaded', detail);
  }

  /** Takes a request that would begin now. Throws `Overloaded` if it is refused; nothing has been done then. */
  readonly admit = (): void => {
    if (this.#waitUsMax === 0) return;
    const nowUs = this.#clock.nowUs();
    if (this.#begun === 0) this.#firstUs = nowUs;
    if (this.#beganUs === undefined) this.#measure(nowUs);
    else if (this.#isLate(nowUs) && this.#isOverloaded(nowUs)) throw this.#error;
    this.#begun += 1;
  };

  /** No request comes any more. */
  stop(): void {
    this.#turnEnd?.cancel();
  }

  #isLate(nowUs: number): boolean {
    return this.#begun >= requestsMin && nowUs - this.#firstUs > this.#waitUsMax;
  }

  #isOverloaded(nowUs: number): boolean {
    if (this.#longTurns === 0 || nowUs - this.#longSinceUs <= intervalWaits * this.#waitUsMax) return false;
    return this.#longTurns > 1 || nowUs - (this.#beganUs ?? nowUs) > this.#lastUs;
  }

  #measure(nowUs: number): void {
    this.#beganUs = nowUs;
    this.#turnEnd = this.#clock.after(0, this.#turnEnded);
  }

  readonly #turnEnded = (): void => {
    const nowUs = this.#clock.nowUs();
    const beganUs = this.#beganUs ?? nowUs;
    if (nowUs - beganUs <= this.#waitUsMax) this.#longTurns = 0;
    else if (this.#longTurns++ === 0) this.#longSinceUs = beganUs;
    // The next turn is measured from its beginning if this one was not short; otherwise from its first request.
    const goesOn = this.#begun > 0 && nowUs - beganUs > this.#waitUsMax / 4;
    this.#begun = 0;
    this.#lastUs = nowUs - beganUs;
    if (goesOn) this.#measure(nowUs);
    else {
      this.#beganUs = undefined;
      this.#longTurns = 0;
    }
  };
}
