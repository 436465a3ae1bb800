/**
 * A promise with its settling functions outside: the bridge from callbacks to conversations. `new Promise` is
 * written only here and in the doors, so that every wake-up of the engine can be found.
 */
export class Deferred<T> {
  readonly promise: Promise<T>;
  #resolve!: (value: T) => void;
  #reject!: (error: unknown) => void;
  #settled = false;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** Settles with a value; later calls change nothing. */
  resolve(value: T): void {
    this.#settled = true;
    this.#resolve(value);
  }

  /** Settles with an error; later calls change nothing. */
  reject(error: unknown): void {
    this.#settled = true;
    this.#reject(error);
  }
}
