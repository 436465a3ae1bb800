/** The names of the running tasks, in reusable places, because every request of every run is a task. */
export class RunningTasks {
  readonly #names: (string | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#names.length - this.#free.length;
  }

  /** In the order of their places. */
  get names(): readonly string[] {
    return this.#names.filter((name) => name !== undefined);
  }

  begin(name: string): number {
    const place = this.#free.pop() ?? this.#names.length;
    this.#names[place] = name;
    return place;
  }

  end(place: number): void {
    this.#names[place] = undefined;
    this.#free.push(place);
  }
}
