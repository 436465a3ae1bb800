/**
 * How many requests of one connection may be under way. What they bring is not known before they are there: a client that
 * asks for the same large value again and again would have a node hold it as often as it asks. So there are few while
 * answers are large, by those so far: a handful at first, one more with each answer, and no more than have room.
 */

/** Before the size of any answer is known; a pipeline of small ones doubles it with every round. */
const mostAtFirst = 4;
/** Answers as large as the last one may together be so many times what a connection may be owed. */
const owedTimesMax = 4;

export class PipelineWindow {
  readonly #bytesMax: number;
  #most = mostAtFirst;
  #underWay = 0;

  /** `owedBytesMax`: bytes of answers that may wait for their turn. */
  constructor(owedBytesMax: number) {
    this.#bytesMax = owedBytesMax * owedTimesMax;
  }

  /** Requests without an answer. */
  get underWay(): number {
    return this.#underWay;
  }

  get hasRoom(): boolean {
    return this.#underWay < this.#most;
  }

  begun(): void {
    this.#underWay += 1;
  }

  /** A request has its answer, of that many bytes. */
  answered(bytes: number): void {
    this.#underWay -= 1;
    const fitting = Math.floor(this.#bytesMax / Math.max(1, bytes));
    this.#most = Math.max(1, Math.min(this.#most + 1, fitting));
  }
}
