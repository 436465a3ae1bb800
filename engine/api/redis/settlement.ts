/**
 * Settles the commands that end at the same time in one step: reads and writes whose peers' answers came together, or
 * that shared a sync. So their replies leave together, what waits for them begins together, and a session that many of
 * them belong to goes on once.
 */
import type { Io } from '../../io/io.ts';

/** A command that has ended and has no reply yet. */
export interface EndedCommand {
  /** Gives the command its reply. */
  conclude(): void;
}

/** A session that a settled command belongs to. */
export interface SettledSession {
  /** Writes the replies that are next in order, and takes further commands. */
  resume(): void;
}

const soon = Promise.resolve();

/** The steps of one listener. */
export class Settlement {
  readonly #io: Pick<Io, 'spawn'>;
  #ended: EndedCommand[] = [];
  #sessions: SettledSession[] | undefined;

  constructor(io: Pick<Io, 'spawn'>) {
    this.#io = io;
  }

  /** Notes the end of a command. It is concluded after all that runs now. */
  add(ended: EndedCommand): void {
    if (this.#ended.push(ended) === 1) this.#io.spawn('redis.settle', () => this.#settle());
  }

  /** Within a step: `session.resume` is called at its end; the session must not ask twice. False otherwise. */
  defers(session: SettledSession): boolean {
    if (this.#sessions === undefined) return false;
    this.#sessions.push(session);
    return true;
  }

  async #settle(): Promise<void> {
    await soon;
    const ended = this.#ended;
    this.#ended = [];
    const sessions: SettledSession[] = [];
    this.#sessions = sessions;
    try {
      for (const one of ended) one.conclude();
    } finally {
      this.#sessions = undefined;
      for (const session of sessions) session.resume();
    }
  }
}
