/** Listeners of what happens in the whole process: pure functions report too, and have no ports. */

/** Listeners of one kind of event. */
export class Listeners<T> {
  readonly #listeners = new Set<(event: T) => void>();

  /** Adds a listener. Returns a function that removes it. */
  add(listener: (event: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls every listener. */
  notify(event: T): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}
