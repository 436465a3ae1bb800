/**
 * What this node tells its peers of how it sees the ring: never more than it would find again after a crash, and nothing
 * new while something is under way here by the ring before. Peers act by a new ring together with those only who have
 * told that they know it (ring-view-agreement.ts). What holds it up for long is said in the log, again and again.
 *
 * A life tells nothing before it has found in its log what is under way: the ring on its disk may be a newer one than
 * the last life told its peers.
 */
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';

export interface RingViewDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  /** How this node sees the ring now. */
  readonly view: () => string;
  /** Makes that durable; false when the disk did not take it. */
  readonly save: () => Promise<boolean>;
  /** The peers are to be told. */
  readonly tell: () => void;
}

/** What holds up the telling of a new ring, by name, and for how long; nobody and 0 when it is told. */
export interface Held {
  readonly heldSeconds: number;
  readonly holders: readonly string[];
}

/** How often it is said what holds up a new ring. */
const remindUs = 10_000_000;
const holdersToldMax = 10;
/** How long a disk rests that did not take it. */
const retryUs = 1_000_000;
/** What peers are told of the ring before there is anything to tell: no fingerprint, so nobody agrees with it. */
const untold = '-';

export class RingViewPublisher {
  readonly #parts: RingViewDependencies;
  #view = untold;
  #begun = false;
  #saving = false;
  #stopped = false;
  #holders: () => readonly string[] = () => [];
  /** Since when something holds it up, while that is so. */
  #heldUs: number | undefined;
  #reminder: Timer | undefined;
  #retry: Timer | undefined;

  constructor(parts: RingViewDependencies) {
    this.#parts = parts;
  }

  /** What peers are told. */
  get view(): string {
    return this.#view;
  }

  /** How long something has held up a new ring; 0 when it is told. Asks nobody, so statistics may read it. */
  get heldSeconds(): number {
    if (this.#heldUs === undefined) return 0;
    return Math.floor((this.#parts.io.clock.nowUs() - this.#heldUs) / 1_000_000);
  }

  /** The same with what holds it up, which may be sent once more to those who lack it. */
  get held(): Held {
    if (this.#heldUs === undefined) return { heldSeconds: 0, holders: [] };
    return { heldSeconds: this.heldSeconds, holders: this.#holders() };
  }

  /** Nothing new is told as long as `holders` names something that is under way by the ring before. */
  holdWhile(holders: () => readonly string[]): void {
    this.#holders = holders;
  }

  /**
   * What this life has found on its disk, or saved there, is told from the beginning unless something holds it up.
   * `isDurable`: the disk has it.
   */
  begin(isDurable: boolean): void {
    this.#begun = true;
    if (isDurable && !this.#isHeld()) this.#view = this.#parts.view();
    else this.refresh();
  }

  /** The ring has changed, or something that was under way is over. */
  refresh(): void {
    if (!this.#begun || this.#saving || this.#stopped) return;
    if (this.#view === this.#parts.view()) this.#release();
    else if (this.#isHeld()) this.#hold();
    else this.#parts.io.spawn('membership.save', () => this.#publish());
  }

  stop(): void {
    this.#stopped = true;
    this.#reminder?.cancel();
    this.#retry?.cancel();
  }

  async #publish(): Promise<void> {
    this.#saving = true;
    this.#retry?.cancel();
    try {
      while (this.#view !== this.#parts.view() && !this.#stopped) {
        if (this.#isHeld()) {
          this.#hold();
          return;
        }
        const view = this.#parts.view();
        if (!(await this.#parts.save())) {
          this.#tryLater();
          return;
        }
        this.#view = view;
        this.#release();
        this.#parts.tell();
      }
    } finally {
      this.#saving = false;
    }
  }

  #tryLater(): void {
    if (!this.#stopped) this.#retry = this.#parts.io.clock.after(retryUs, () => this.refresh());
  }

  #isHeld(): boolean {
    return this.#holders().length > 0;
  }

  #hold(): void {
    if (this.#heldUs !== undefined) return;
    const { clock, log } = this.#parts.io;
    this.#heldUs = clock.nowUs();
    log.event('info', 'membership.ring.held', { view: this.#parts.view() });
    this.#remind();
  }

  #remind(): void {
    const { clock, log } = this.#parts.io;
    this.#reminder = clock.after(remindUs, () => {
      const { heldSeconds, holders } = this.held;
      const transactions = holders.slice(0, holdersToldMax).join(' ');
      log.event('warn', 'membership.ring.held', { heldSeconds, count: holders.length, transactions });
      this.#remind();
    });
  }

  #release(): void {
    this.#heldUs = undefined;
    this.#reminder?.cancel();
  }
}
