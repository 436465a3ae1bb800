/**
 * A promise that code outside its constructor settles: the bridge from callbacks to `async` functions. `new Promise` is
 * written only here and in the ports, so that every wake-up of the engine can be found.
 */
export class Deferred<T> {
  /** Settles when `resolve` or `reject` is called first. */
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

  /** Whether `resolve` or `reject` has been called. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Settles the promise with a value; later calls have no effect. */
  resolve(value: T): void {
    this.#settled = true;
    this.#resolve(value);
  }

  /** Settles the promise with an error; later calls have no effect. */
  reject(error: unknown): void {
    this.#settled = true;
    this.#reject(error);
  }
}
