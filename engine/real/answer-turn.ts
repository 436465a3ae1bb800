/**
 * Answers that are there in the turn of the event loop in which their requests were read, as those to reads are, leave
 * together at its end. A system call that has to wake its reader on another processor costs several times one that finds
 * it awake: one client is woken for each turn then, instead of each for its own answer. Answers that others were waited
 * for leave as they come: those of one group of writes come together anyway, and clients ask on while the rest is sent.
 */
export class AnswerTurn<Whom, Answer> {
  readonly #send: (whom: Whom, answer: Answer) => void;
  #turn = 0;
  #ends = false;
  #waiting: { readonly whom: Whom; readonly answer: Answer }[] = [];

  /** `send` does not throw. */
  constructor(send: (whom: Whom, answer: Answer) => void) {
    this.#send = send;
  }

  /** The turn that a request is read in. */
  now(): number {
    if (!this.#ends) {
      this.#ends = true;
      setImmediate(this.#end);
    }
    return this.#turn;
  }

  /** Sends the answer to a request of `turn`: now, or at the turn's end while it lasts. */
  give(turn: number, whom: Whom, answer: Answer): void {
    if (turn === this.#turn) this.#waiting.push({ whom, answer });
    else this.#send(whom, answer);
  }

  readonly #end = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#ends = false;
    this.#turn += 1;
    for (const { whom, answer } of waiting) this.#send(whom, answer);
  };
}
