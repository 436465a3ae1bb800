/**
 * What this node tells its peers of how it sees the ring: never more than it would find again after a crash, and nothing
 * new while something is under way here by the ring before. Peers act by a new ring together with those only who have
 * told that they know it (agreement.ts).
 */
import type { Io } from '../io/io.ts';

export interface PublicationParts {
  readonly io: Pick<Io, 'log' | 'spawn'>;
  /** How this node sees the ring now. */
  readonly view: () => string;
  /** Makes that durable; false when the disk did not take it. */
  readonly save: () => Promise<boolean>;
  /** The peers are to be told. */
  readonly tell: () => void;
}

export class Publication {
  readonly #parts: PublicationParts;
  #view: string;
  #saving = false;
  #stopped = false;
  #holds: () => boolean = () => false;

  /** What is seen now is durable. */
  constructor(parts: PublicationParts) {
    this.#parts = parts;
    this.#view = parts.view();
  }

  /** What peers are told. */
  get view(): string {
    return this.#view;
  }

  /** Nothing new is told as long as `holds` says that something is under way by the ring before. */
  holdWhile(holds: () => boolean): void {
    this.#holds = holds;
  }

  /** The ring has changed, or something that was under way is over. */
  refresh(): void {
    const { io, view } = this.#parts;
    if (this.#view === view() || this.#saving || this.#stopped) return;
    if (this.#holds()) io.log.event('info', 'membership.ring.held', { view: view() });
    else io.spawn('membership.save', () => this.#publish());
  }

  stop(): void {
    this.#stopped = true;
  }

  async #publish(): Promise<void> {
    this.#saving = true;
    try {
      while (this.#view !== this.#parts.view() && !this.#stopped && !this.#holds()) {
        const view = this.#parts.view();
        if (!(await this.#parts.save())) return;
        this.#view = view;
        this.#parts.tell();
      }
    } finally {
      this.#saving = false;
    }
  }
}
