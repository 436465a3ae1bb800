/**
 * Whether the other sides of connections still live, by counting the intervals in which nothing came. Intervals and not
 * elapsed time: a process that slept through its own deadline first looks at what has come meanwhile.
 *
 * One timer serves all connections of a node, since a large cluster has very many that are silent: a wheel of slots is
 * looked at, one slot after the other, and every connection stands in one, so that they do not all ask at once.
 *
 * Invariant: between two looks at a connection there is at least an interval.
 */
import { present } from '../base/assert.ts';
import type { Clock, Timer } from '../io/clock.ts';

/** Who is told of silence. */
export interface HeartbeatListener {
  /** A whole interval has passed without a sign. */
  onSilent(): void;
  /** So many have that the other side counts as dead; nothing is told after it. */
  onDead(): void;
}

export interface HeartbeatSettings {
  readonly intervalUs: number;
  /** Whole intervals without a sign after which the other side counts as dead. */
  readonly silentMax: number;
}

const slotCount = 8;

/** All connections of a node. */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #silentMax: number;
  readonly #grainUs: number;
  readonly #slots: readonly Set<Heartbeat>[] = Array.from({ length: slotCount }, () => new Set<Heartbeat>());
  /** The slot that was looked at last. */
  #at = 0;
  #count = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, { intervalUs, silentMax }: HeartbeatSettings) {
    this.#clock = clock;
    this.#silentMax = silentMax;
    this.#grainUs = Math.ceil(intervalUs / slotCount);
  }

  /** Begins to listen for the signs of a connection, until its pulse is stopped or it is dead. */
  begin(listener: HeartbeatListener): Heartbeat {
    const slot = this.#emptiest();
    const pulse = new Heartbeat(listener, () => this.#remove(slot, pulse));
    slot.add(pulse);
    this.#count += 1;
    if (this.#count === 1) this.#arm();
    return pulse;
  }

  /** Of several the one whose turn is the farthest away. */
  #emptiest(): Set<Heartbeat> {
    let best = this.#slot(this.#at);
    for (let ahead = slotCount - 1; ahead > 0; ahead--) {
      const slot = this.#slot(this.#at + ahead);
      if (slot.size < best.size) best = slot;
    }
    return best;
  }

  #remove(slot: Set<Heartbeat>, pulse: Heartbeat): void {
    if (!slot.delete(pulse)) return;
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
    for (const pulse of this.#slot(this.#at)) pulse.tick(this.#silentMax);
  }

  #slot(index: number): Set<Heartbeat> {
    return present(this.#slots[index % slotCount], 'a slot');
  }
}

/** The signs of one connection. */
export class Heartbeat {
  readonly #listener: HeartbeatListener;
  readonly #end: () => void;
  /** Looks since the last sign; the first one may follow it at once. */
  #looks = 0;

  constructor(listener: HeartbeatListener, end: () => void) {
    this.#listener = listener;
    this.#end = end;
  }

  /** The other side has given a sign. */
  heard(): void {
    this.#looks = 0;
  }

  /** Nothing is told from now on. */
  stop(): void {
    this.#end();
  }

  /** A turn of the wheel. */
  tick(silentMax: number): void {
    this.#looks += 1;
    if (this.#looks > silentMax) {
      this.#end();
      this.#listener.onDead();
    } else if (this.#looks > 1) this.#listener.onSilent();
  }
}
