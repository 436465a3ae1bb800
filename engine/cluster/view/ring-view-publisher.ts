/**
 * Publishes this node's ring view to its peers: never a view that a crash could take back, and no new view while
 * something is under way here by the old ring, or is known to last into the next one
 * (transactions/transactions.ts, `givenAway`). Peers use a new ring together only with nodes that have published it
 * (ring-view-agreement.ts). What holds a new view back for long is logged again and again.
 *
 * An incarnation publishes nothing before it has read from its log what is under way: the ring on its disk may be newer
 * than the last one that the earlier incarnation published.
 */
import { sometimes } from '../../base/sometimes.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';

/** What the publisher works with. */
export interface RingViewDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  /** This node's current ring view. */
  readonly view: () => string;
  /** Makes the view durable. Resolves with false if the disk did not take it. */
  readonly save: () => Promise<boolean>;
  /** Sends the published view to the peers. */
  readonly tell: () => void;
}

/** What holds back a new ring view, by transaction id, and for how long. Empty and 0 if it is published. */
export interface Held {
  readonly heldSeconds: number;
  readonly holders: readonly string[];
}

/** How often the reason is logged again. */
const remindUs = 10_000_000;
const holdersToldMax = 10;
/** How long the publisher waits before it retries a save that failed. */
const retryUs = 1_000_000;
/** The view before there is one to publish. It is no fingerprint, so no peer agrees with it. */
const untold = '-';

/** The ring view that one node publishes. */
export class RingViewPublisher {
  readonly #parts: RingViewDependencies;
  #view = untold;
  #begun = false;
  #saving = false;
  #stopped = false;
  #holders: () => readonly string[] = () => [];
  /** Since when something holds back the new view; undefined while nothing does. */
  #heldUs: number | undefined;
  #reminder: Timer | undefined;
  #retry: Timer | undefined;

  constructor(parts: RingViewDependencies) {
    this.#parts = parts;
  }

  /** The published view. */
  get view(): string {
    return this.#view;
  }

  /**
   * How long the new view has been held back, in seconds; 0 if it is published. Sends nothing, so statistics may read
   * it.
   */
  get heldSeconds(): number {
    if (this.#heldUs === undefined) return 0;
    return Math.floor((this.#parts.io.clock.nowUs() - this.#heldUs) / 1_000_000);
  }

  /** The same, with what holds it back. Computing that may send batches again to nodes that lack them. */
  get held(): Held {
    if (this.#heldUs === undefined) return { heldSeconds: 0, holders: [] };
    return { heldSeconds: this.heldSeconds, holders: this.#holders() };
  }

  /**
   * Sets what holds back a new view: no new view is published while `holders` returns the ids of transactions under way
   * by the old ring.
   */
  holdWhile(holders: () => readonly string[]): void {
    this.#holders = holders;
  }

  /**
   * Publishes the first view: the one that this incarnation found on its disk or has saved there, unless something
   * holds it back. `isDurable`: the disk has it.
   */
  begin(isDurable: boolean): void {
    this.#begun = true;
    if (isDurable && !this.#isHeld()) this.#view = this.#parts.view();
    else this.refresh();
  }

  /**
   * Publishes the current view if it is new. Called when the ring has changed, or when something under way has ended.
   */
  refresh(): void {
    if (!this.#begun || this.#saving || this.#stopped) return;
    if (this.#view === this.#parts.view()) this.#release();
    else if (this.#isHeld()) this.#hold();
    else this.#parts.io.spawn('membership.save', () => this.#publish());
  }

  /** Cancels every timer. */
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
          sometimes('view.save-failed');
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
    sometimes('view.publication-held');
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
