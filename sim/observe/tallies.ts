/** Named counters of an observer. */
export class Tallies {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** The counters whose names begin with `prefix`, by the remainder of their names. */
  under(prefix: string): Readonly<Record<string, number>> {
    const found = [...this.#counts].filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(found.map(([name, count]) => [name.slice(prefix.length), count]));
  }
}
