/**
 * Detects dead connections by counting the intervals in which nothing arrived. It counts intervals, not elapsed time: a
 * process that was paused past a deadline first sees what has arrived meanwhile.
 *
 * Silence does not count while this node has bytes to send that have not left. On a slow link a large frame takes longer
 * than a peer may be silent, and the ping waits behind it; and a node that waits for a peer to take its answers does not
 * read that peer. The network port cuts a connection of which no byte leaves (`Connection.setPatience`).
 *
 * One timer serves all connections of a node, since a large cluster has very many silent ones. It checks a wheel of
 * slots, one slot after the other. Every connection is in one slot, so they do not all ping at once.
 *
 * Invariant: at least an interval passes between two checks of one connection.
 */
import { present } from '../base/assert.ts';
import type { Clock, Timer } from '../io/clock.ts';

/** Receives the silence of a connection. */
export interface HeartbeatListener {
  /** Whether bytes wait to leave this node. */
  isSending(): boolean;
  /** A whole interval has passed without any bytes. */
  onSilent(): void;
  /** So many intervals have passed that the other side counts as dead. Nothing is reported after this. */
  onDead(): void;
}

/** Pace of the checks. */
export interface HeartbeatSettings {
  readonly intervalUs: number;
  /** Whole intervals without any bytes after which the other side counts as dead. */
  readonly silentMax: number;
}

const slotCount = 8;

/** The heartbeats of all connections of a node. */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #silentMax: number;
  readonly #grainUs: number;
  readonly #slots: readonly Set<Heartbeat>[] = Array.from({ length: slotCount }, () => new Set<Heartbeat>());
  /** The slot that was checked last. */
  #at = 0;
  #count = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, { intervalUs, silentMax }: HeartbeatSettings) {
    this.#clock = clock;
    this.#silentMax = silentMax;
    this.#grainUs = Math.ceil(intervalUs / slotCount);
  }

  /** Starts to watch a connection, until its heartbeat is stopped or reports it dead. */
  begin(listener: HeartbeatListener): Heartbeat {
    const slot = this.#emptiest();
    const heartbeat = new Heartbeat(listener, () => this.#remove(slot, heartbeat));
    slot.add(heartbeat);
    this.#count += 1;
    if (this.#count === 1) this.#arm();
    return heartbeat;
  }

  /** The emptiest slot; of several, the one whose turn is the farthest away. */
  #emptiest(): Set<Heartbeat> {
    let best = this.#slot(this.#at);
    for (let ahead = slotCount - 1; ahead > 0; ahead--) {
      const slot = this.#slot(this.#at + ahead);
      if (slot.size < best.size) best = slot;
    }
    return best;
  }

  #remove(slot: Set<Heartbeat>, heartbeat: Heartbeat): void {
    if (!slot.delete(heartbeat)) return;
    this.#count -= 1;
    if (this.#count > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer = this.#clock.after(this.#grainUs, () => this.#look());
  }

  #look(): void {
    this.#arm();
    this.#at = (this.#at + 1) % slotCount;
    for (const heartbeat of this.#slot(this.#at)) heartbeat.tick(this.#silentMax);
  }

  #slot(index: number): Set<Heartbeat> {
    return present(this.#slots[index % slotCount], 'a slot');
  }
}

/** The silence of one connection. */
export class Heartbeat {
  readonly #listener: HeartbeatListener;
  readonly #end: () => void;
  /** Checks since bytes last arrived; the first check may follow them at once. */
  #looks = 0;
  /** Bytes waited to leave at the last check. */
  #wasSending = false;

  constructor(listener: HeartbeatListener, end: () => void) {
    this.#listener = listener;
    this.#end = end;
  }

  /** Bytes have arrived. */
  heard(): void {
    this.#looks = 0;
  }

  /** Stops watching; nothing is reported from now on. */
  stop(): void {
    this.#end();
  }

  /** Checks the connection. Called by the wheel. */
  tick(silentMax: number): void {
    const wasSending = this.#wasSending;
    this.#wasSending = this.#listener.isSending();
    // One check may come just after a write.
    if (wasSending && this.#wasSending) {
      this.#looks = 0;
      return;
    }
    this.#looks += 1;
    if (this.#looks > silentMax) {
      this.#end();
      this.#listener.onDead();
    } else if (this.#looks > 1) this.#listener.onSilent();
  }
}
