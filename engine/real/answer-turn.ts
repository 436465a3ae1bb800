/**
 * Sends answers in batches, one batch per turn of the event loop.
 *
 * An answer that is ready in the turn in which its request was read (reads usually are) leaves at the end of that turn,
 * together with the others. A system call that wakes its reader on another processor costs several times one that finds
 * the reader awake; batching wakes a client once per turn instead of once per answer. An answer that had to wait for
 * other work leaves at once: the answers of one group of writes come together anyway, and clients can go on asking
 * meanwhile.
 */
export class AnswerTurn<Whom, Answer> {
  readonly #send: (whom: Whom, answer: Answer) => void;
  #turn = 0;
  #ends = false;
  #waiting: { readonly whom: Whom; readonly answer: Answer }[] = [];

  /** `send` sends one answer; it must not throw. */
  constructor(send: (whom: Whom, answer: Answer) => void) {
    this.#send = send;
  }

  /** The current turn; the caller notes it when it reads a request and passes it to `give`. */
  now(): number {
    if (!this.#ends) {
      this.#ends = true;
      setImmediate(this.#end);
    }
    return this.#turn;
  }

  /** Sends the answer to a request read in `turn`: at the end of that turn while it lasts, otherwise now. */
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
