/**
 * A node's part in a backup: holds its writes back while the cut is taken, pins the segments of that moment, and hands
 * out their bytes. `README.md` has the protocol.
 *
 * The bytes of a segment are copied as they are. The first read of a segment makes the node check it against its
 * checksums, so that bit rot which a backup copies is reported here, and healed by anti-entropy, before the backup is
 * needed.
 *
 * Invariants: writes are held for at most one backup at a time, and no longer than its lease, whatever becomes of the
 * process that takes the backup. Pins end with the backup, after `idleUsMax` without a read, or when the node stops.
 */
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { LentBytes } from '../base/lent-bytes.ts';
import type { Timer } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { PinnedSegments } from '../storage/log/pinned-segments.ts';
import type { Store } from '../storage/store.ts';
import type { CutAnswer, HoldAnswer, OpenTransaction, ReleaseAnswer } from './messages.ts';
import { chunkBytesMax, leaseMsMax } from './messages.ts';

/** What the node knows of itself and its cluster. */
export interface NodeFacts {
  readonly node: string;
  readonly datacenter: string;
  readonly rack: string;
  readonly clusterId: string;
  readonly incarnation: () => number;
  readonly view: () => string;
  /** Every member that has not left, this node included. */
  readonly members: () => readonly string[];
  /** Transactions that wait for an outcome here. */
  readonly transactions: () => readonly OpenTransaction[];
}

/** What the snapshots work with. */
export interface SnapshotDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly store: Pick<Store, 'hold' | 'resume' | 'pin' | 'state' | 'storeId' | 'createdMs'>;
  readonly facts: NodeFacts;
}

/** Pins without a read for so long are released. */
const idleUsMax = 600_000_000;
/**
 * Pause of a segment's check between its windows (1 MiB): at most 4 MiB a second, which leaves the node to its clients. A
 * check may outlast its backup.
 */
const checkPauseUs = 250_000;
/** Backups whose segments are pinned at once. */
const pinsMax = 2;

interface Hold {
  readonly id: string;
  readonly lease: Timer;
  isHeld: boolean;
}

interface Pins {
  readonly segments: PinnedSegments;
  idle: Timer;
  /** Memory of a read whose bytes have left. Without it every read would allocate, and make the collector work. */
  spare: Buffer | undefined;
  /** Numbers of segments whose check has begun. */
  readonly checked: Set<number>;
}

/** Ends the checks of a node that stops. */
class Stopped extends Error {}

/** The snapshots of one node. */
export class NodeSnapshots {
  readonly #parts: SnapshotDependencies;
  readonly #pins = new Map<string, Pins>();
  /** The checks under way: each has files of the store open. */
  readonly #checks = new Set<Promise<void>>();
  #hold: Hold | undefined;
  #isStopped = false;

  constructor(parts: SnapshotDependencies) {
    this.#parts = parts;
  }

  /**
   * Holds the node's writes back for the backup `id`, for at most `leaseMs`. Resolves once nothing becomes durable any
   * more. Throws `Conflict` if another backup holds them, `BadRequest` for a lease that is not allowed, `ShuttingDown`.
   */
  async hold(id: string, leaseMs: number): Promise<HoldAnswer> {
    const { io, store, facts } = this.#parts;
    if (!Number.isInteger(leaseMs) || leaseMs < 1 || leaseMs > leaseMsMax)
      throw new LockstepError('BadRequest', `lease_ms is a whole number from 1 to ${leaseMsMax}`);
    if (this.#hold !== undefined)
      throw new LockstepError(
        'Conflict',
        `the backup ${this.#hold.id} holds this node's writes; try again later`,
      );
    this.#mustGoOn();
    const lease = io.clock.after(leaseMs * 1000, () => this.#expire(id));
    const hold: Hold = { id, lease, isHeld: false };
    this.#hold = hold;
    await store.hold();
    if (this.#hold !== hold)
      throw new LockstepError('Conflict', `the lease of ${id} ended before its writes were held`);
    hold.isHeld = true;
    io.log.event('info', 'backup.writes.held', { id });
    const { node, datacenter, rack, clusterId, incarnation, view, members } = facts;
    return {
      node,
      datacenter,
      rack,
      cluster_id: clusterId,
      incarnation: incarnation(),
      view: view(),
      members: members(),
    };
  }

  /** Pins the segments of this moment. Throws `Conflict` unless the backup holds this node's writes. */
  cut(id: string): CutAnswer {
    const { io, store, facts } = this.#parts;
    if (this.#hold?.id !== id || !this.#hold.isHeld)
      throw new LockstepError(
        'Conflict',
        `the backup ${id} does not hold this node's writes: its lease has ended`,
      );
    if (!this.#pins.has(id) && this.#pins.size >= pinsMax)
      throw new LockstepError('Conflict', `${pinsMax} backups of this node are under way already`);
    this.end(id);
    const segments = store.pin();
    const idle = io.clock.after(idleUsMax, () => this.#forget(id));
    this.#pins.set(id, { segments, idle, spare: undefined, checked: new Set() });
    io.log.event('info', 'backup.segments.pinned', { id, segments: segments.segments.length });
    return {
      store_id: store.storeId,
      created_ms: store.createdMs,
      transactions: facts.transactions(),
      segments: segments.segments.map((one) => ({
        number: one.number,
        kind: one.kind,
        sealed: one.sealed,
        bytes: one.length,
        seq_min: one.seqMin,
        seq_max: one.seqMax,
        damaged: one.damaged,
      })),
    };
  }

  /** Lets the writes go on. `held`: the backup has held them without a break until now. */
  release(id: string): ReleaseAnswer {
    const held = this.#hold?.id === id && this.#hold.isHeld;
    if (this.#hold?.id === id) this.#resume();
    const { facts } = this.#parts;
    return { held, view: facts.view(), incarnation: facts.incarnation() };
  }

  /**
   * Bytes of a pinned segment: at most `chunkBytesMax`, empty at its end. Rejects with `NotFound` if it is not pinned:
   * the node has restarted, or the backup was idle for too long.
   */
  async read(id: string, number: number, from: number, bytes: number): Promise<LentBytes> {
    const pins = this.#pins.get(id);
    if (pins === undefined) throw notPinned(id, number);
    const memory = pins.spare ?? Buffer.allocUnsafeSlow(chunkBytesMax);
    pins.spare = undefined;
    const count = await pins.segments.readAt(
      number,
      memory.subarray(0, Math.min(bytes, chunkBytesMax)),
      from,
    );
    if (count === undefined) throw notPinned(id, number);
    pins.idle.cancel();
    if (this.#pins.get(id) === pins) {
      pins.idle = this.#parts.io.clock.after(idleUsMax, () => this.#forget(id));
      this.#checkOnce(id, pins, number);
    }
    return { bytes: memory.subarray(0, count), release: () => (pins.spare = memory) };
  }

  /** The check may outlast the backup, not the node. */
  #checkOnce(id: string, pins: Pins, number: number): void {
    if (pins.checked.has(number)) return;
    pins.checked.add(number);
    const { clock, log, spawn } = this.#parts.io;
    const rest = async (): Promise<void> => {
      await sleep(clock, checkPauseUs);
      if (this.#isStopped) throw new Stopped();
    };
    const over = new Deferred<void>();
    this.#checks.add(over.promise);
    spawn('backup.check', async () => {
      try {
        await pins.segments.check(number, rest);
      } catch (error) {
        if (error instanceof Stopped) return;
        if (!(error instanceof LockstepError)) throw error;
        log.event('warn', 'backup.segment.unchecked', { id, segment: number, detail: error.message });
      } finally {
        this.#checks.delete(over.promise);
        over.resolve();
      }
    });
  }

  /** The backup is over, or given up: lets writes go on, and releases what it has pinned. */
  end(id: string): void {
    const pins = this.#pins.get(id);
    if (pins === undefined) return;
    this.#pins.delete(id);
    pins.idle.cancel();
    pins.segments.release();
  }

  /** The node stops: before the store is closed. Resolves once no check has a file of the store open. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#hold !== undefined) this.#resume();
    for (const id of [...this.#pins.keys()]) this.end(id);
    await Promise.all(this.#checks);
  }

  /** A listener answers for a moment longer than this takes part in backups. */
  #mustGoOn(): void {
    if (this.#isStopped || this.#parts.store.state === 'closed')
      throw new LockstepError('ShuttingDown', 'the node is stopping');
  }

  #expire(id: string): void {
    this.#resume();
    this.#parts.io.log.event('warn', 'backup.lease.ended', { id });
  }

  #forget(id: string): void {
    this.#parts.io.log.event('warn', 'backup.pins.forgotten', { id });
    this.end(id);
  }

  #resume(): void {
    if (this.#hold?.isHeld === true)
      this.#parts.io.log.event('info', 'backup.writes.resumed', { id: this.#hold.id });
    this.#hold?.lease.cancel();
    this.#hold = undefined;
    this.#parts.store.resume();
  }
}

function notPinned(id: string, number: number): LockstepError {
  return new LockstepError('NotFound', `segment ${number} is not pinned for the backup ${id}; begin again`);
}
