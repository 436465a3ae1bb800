/**
 * The tasks of an incarnation: conversations that no caller awaits. A failed task is logged, counted, and becomes a
 * failure of the world.
 */
import type { Log } from '../../../engine/io/log.ts';
import type { Incarnation } from '../cluster/incarnation.ts';

/** The tasks of one incarnation. */
export class Tasks {
  readonly #life: Incarnation;
  readonly #log: Log;
  #failed = 0;

  constructor(life: Incarnation, log: Log) {
    this.#life = life;
    this.#log = log;
  }

  /** How many tasks have failed. */
  get failed(): number {
    return this.#failed;
  }

  /** Starts a task at once. A zombie's call starts none. */
  spawn(name: string, task: () => Promise<void>): void {
    const { tasks } = this.#life;
    if (!this.#life.awake()) return;
    const place = tasks.begin(name);
    task().then(
      () => tasks.end(place),
      (error: unknown) => {
        tasks.end(place);
        this.#fail(name, error);
      },
    );
  }

  #fail(name: string, error: unknown): void {
    if (!this.#life.alive) return;
    this.#failed += 1;
    const story = error instanceof Error ? error.message : String(error);
    this.#log.event('error', 'task.failed', { task: name, error: story });
    this.#life.ground.fail(this.#life.host, `task ${name}`, error);
  }
}
