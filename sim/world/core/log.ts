/** The log port of the world: events at or above the run's level go into the trace. */
import type { Log, LogFields, LogLevel } from '../../../engine/io/log.ts';
import { logLevels } from '../../../engine/io/log.ts';
import type { Incarnation } from '../cluster/incarnation.ts';

/** The log port of one incarnation. */
export class IncarnationLog implements Log {
  readonly #life: Incarnation;
  readonly #least: number;

  constructor(life: Incarnation) {
    this.#life = life;
    this.#least = logLevels.indexOf(life.ground.logLevel);
  }

  enabled(level: LogLevel): boolean {
    return this.#life.alive && logLevels.indexOf(level) >= this.#least;
  }

  event(level: LogLevel, name: string, fields: LogFields = {}): void {
    if (!this.#life.awake() || !this.enabled(level)) return;
    this.#life.ground.trace.logged(this.#life.hostIndex, level, name, fields);
  }
}
