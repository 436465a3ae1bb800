/** The tasks of a life: conversations that nobody waits for. A failure in one is logged, counted, and the world's. */
import type { Log } from '../../../engine/io/log.ts';
import type { Incarnation } from '../cluster/incarnation.ts';

export class Tasks {
  readonly #life: Incarnation;
  readonly #log: Log;
  #failed = 0;

  constructor(life: Incarnation, log: Log) {
    this.#life = life;
    this.#log = log;
  }

  /** Tasks that have failed. */
  get failed(): number {
    return this.#failed;
  }

  /** Starts a task, at once. A zombie starts none. */
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
