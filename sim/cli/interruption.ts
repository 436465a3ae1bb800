/**
 * Ctrl-C during a long command: the first one ends the work, so that the command can still print what it found; the
 * second one ends the process, as it would without this.
 */

/** Exit code of a process that SIGINT ended. */
export const interruptedExitCode = 130;

/** Node.js fires longer timers at once. */
const timerMsMax = 0x7fffffff;

/** Listens to Ctrl-C from its making until `forget`. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #listener = (): void => {
    if (this.hasCome) process.exit(interruptedExitCode);
    process.stderr.write('\nCtrl-C: ends with what was found so far. Once more: ends at once.\n');
    this.#controller.abort();
  };

  constructor() {
    process.on('SIGINT', this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** A signal that is aborted by Ctrl-C, or once so many milliseconds have passed; a part of one counts whole. */
  orAfter(ms: number): AbortSignal {
    // `any` refers to its sources weakly. In Node.js 20 a signal of `AbortSignal.timeout` that nothing else refers to is
    // collected before its time, and the limit with it; the timer keeps this one.
    const late = new AbortController();
    setTimeout(() => late.abort(), Math.min(Math.ceil(ms), timerMsMax)).unref();
    return AbortSignal.any([this.signal, late.signal]);
  }

  get hasCome(): boolean {
    return this.signal.aborted;
  }

  /** Resolves once the work is done or Ctrl-C has come; rejects if the work does so before. */
  async orDone(work: Promise<void>): Promise<void> {
    const came = new Promise<void>((resolve) => {
      this.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([work, came]);
  }

  /** Ctrl-C ends the process again. */
  forget(): void {
    process.off('SIGINT', this.#listener);
  }
}
