/**
 * Limits how many requests of one connection are under way, by the size of their answers. An answer's size is unknown
 * until it is there: a client that asks for the same large value over and over would make the node hold it that many
 * times. The window begins small and grows by one with each answer, up to as many answers of the last size as fit.
 */

/** Requests, before the size of any answer is known. A pipeline of small answers doubles the window every round. */
const mostAtFirst = 4;
/** Answers of the last one's size may together take this many times the bytes that a connection may be owed. */
const owedTimesMax = 4;

/** The window of one connection. The session begins no request while `hasRoom` is false. */
export class PipelineWindow {
  readonly #bytesMax: number;
  #most = mostAtFirst;
  #underWay = 0;

  /** `owedBytesMax`: bytes of answers that may wait for their turn. */
  constructor(owedBytesMax: number) {
    this.#bytesMax = owedBytesMax * owedTimesMax;
  }

  /** Requests that have no answer yet. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Whether the session may begin another request. */
  get hasRoom(): boolean {
    return this.#underWay < this.#most;
  }

  /** Counts a request that the session began. */
  begun(): void {
    this.#underWay += 1;
  }

  /** A request has its answer, of `bytes` bytes. */
  answered(bytes: number): void {
    this.#underWay -= 1;
    const fitting = Math.floor(this.#bytesMax / Math.max(1, bytes));
    this.#most = Math.max(1, Math.min(this.#most + 1, fitting));
  }
}
