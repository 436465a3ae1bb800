/**
 * One side of a simulated connection: the port's `Connection` over two pipes, one out and one in. The kernel's part
 * (bytes that have arrived and wait to be read) goes on while the process is paused. Handlers are called only in events
 * of the process, one call each.
 */
import { assert, present } from '../../../engine/base/assert.ts';
import type {
  Address,
  BytesOwner,
  CloseReason,
  Connection,
  ConnectionHandler,
} from '../../../engine/io/network.ts';
import { Inbox } from './inbox.ts';
import type { FaultId } from '../core/fault-log.ts';
import type { Holding, Incarnation } from '../cluster/incarnation.ts';
import { placeOf } from './links.ts';
import { BorrowedBuffers } from '../disk/borrowed-buffers.ts';
import type { Machine } from './machine.ts';
import { Patience } from './user-timeout.ts';
import type { PipeContext, Receiver, Sender } from './pipe.ts';
import { Pipe } from './pipe.ts';
import type { Segment } from './segment.ts';
import type { TimelineEvent } from '../core/timeline.ts';
import { worldEvents } from '../core/trace.ts';
import type { ConnectionEnd, ConnectionWatcher } from '../core/watchers.ts';

/** Machine and incarnation of a side, and the address of the other one. */
export interface Side {
  readonly machine: Machine;
  readonly life: Incarnation;
  readonly remote: Address;
  readonly side: ConnectionEnd['side'];
  /** The port on which the server's side listens. */
  readonly port: number;
}

/** Indexed by their numbers in the digest. */
export const closeReasons: readonly CloseReason[] = ['ended', 'reset', 'timedOut', 'closedHere'];

/** Hands the server's side to the listener (`accepted`), or refuses it. */
export type Accept = (connection: WorldConnection) => boolean;

/** One side of a connection. */
export class WorldConnection implements Connection, Holding, Sender, Receiver {
  readonly id: number;
  readonly remote: Address;
  readonly machine: Machine;
  readonly #life: Incarnation;
  readonly #shared: PipeContext;
  readonly #out: Pipe;
  readonly #in: Pipe;
  #peer: WorldConnection | undefined;
  #accept: Accept | undefined;
  #handler: ConnectionHandler | undefined;

  readonly #inbox: Inbox;
  #reading = true;
  #readScheduled = false;

  readonly #borrowed: BorrowedBuffers;
  readonly #patience: Patience;
  readonly #end: ConnectionEnd;
  #left = false;
  #written = 0;
  #needsDrain = false;
  #ended = false;
  #over = false;
  #overCause: FaultId | undefined;
  #closed: CloseReason | undefined;

  private constructor(
    shared: PipeContext,
    id: number,
    { machine, life, remote, side, port }: Side,
    other: Machine,
    pipes: { readonly out: Pipe; readonly in: Pipe },
  ) {
    this.#shared = shared;
    this.id = id;
    this.machine = machine;
    this.#life = life;
    this.remote = remote;
    this.#end = { id, side, host: machine.name, life: life.number, peer: other.name, port };
    this.#out = pipes.out;
    this.#in = pipes.in;
    this.#inbox = new Inbox(shared, other, machine);
    this.#borrowed = new BorrowedBuffers(shared.ground, machine.name, remote);
    this.#patience = new Patience(shared.ground.timeline, pipes.out, () => this.#abandon('timedOut'));
  }

  /**
   * Creates both sides of a connection. `accept` gets the server's side when the client's first packet arrives there.
   */
  static makePair(
    shared: PipeContext,
    id: number,
    client: Side,
    server: Side,
    accept: Accept,
  ): WorldConnection {
    const up = new Pipe(shared, id, client.machine, server.machine);
    const down = new Pipe(shared, id, server.machine, client.machine);
    const near = new WorldConnection(shared, id, client, server.machine, { out: up, in: down });
    const far = new WorldConnection(shared, id, server, client.machine, { out: down, in: up });
    near.#peer = far;
    far.#peer = near;
    far.#accept = accept;
    up.join(near, far);
    down.join(far, near);
    client.life.connections.add(near);
    near.#watched((watcher, end) => watcher.opened(end));
    up.open();
    return near;
  }

  get alive(): boolean {
    return this.#life.alive;
  }

  /** Whether a fault can still hit this side: it is neither closed nor given up. */
  get live(): boolean {
    return this.#life.alive && !this.#over;
  }

  get peer(): WorldConnection {
    return present(this.#peer, 'the other side');
  }

  /** Bytes that the model holds for this side. */
  get heldBytes(): number {
    return this.#out.pendingBytes + this.#inbox.length;
  }

  describe(): string {
    return `${this.machine.name} to ${this.remote}`;
  }

  // The port.

  get pendingBytes(): number {
    return this.#out.pendingBytes;
  }

  start(handler: ConnectionHandler): void {
    if (!this.#life.awake()) return;
    assert(this.#handler === undefined, 'a connection is started once');
    this.#handler = handler;
    if (this.#closed !== undefined) this.#close(this.#closed);
    else this.#scheduleRead();
  }

  write(bytes: Uint8Array, owner?: BytesOwner): boolean {
    if (!this.#life.awake()) return false;
    if (this.#shared.watchers.length > 0) this.#watched((watcher, end) => watcher.wrote(end, bytes));
    if (this.#over || this.#ended) {
      if (this.#closed === undefined) owner?.released(bytes);
      return false;
    }
    this.#written += bytes.length;
    this.#out.write(owner === undefined ? bytes : this.#borrowed.lend(bytes, owner, this.#written));
    this.#patience.wrote();
    if (this.#out.pendingBytes < this.#shared.ground.tuning.network.highWaterBytes) return true;
    this.#needsDrain = true;
    if (this.#shared.watchers.length > 0) this.#watched((watcher, end) => watcher.full?.(end));
    return false;
  }

  setPatience(us: number): void {
    if (this.#life.awake()) this.#patience.set(us);
  }

  pause(): void {
    if (this.#life.awake()) this.#reading = false;
  }

  resume(): void {
    if (!this.#life.awake()) return;
    this.#reading = true;
    this.#scheduleRead();
  }

  end(): void {
    if (!this.#life.awake()) return;
    this.#leaves();
    if (this.#over || this.#ended) return;
    this.#ended = true;
    this.#out.end();
  }

  destroy(): void {
    if (!this.#life.awake()) return;
    this.#leaves();
    // A connection that was never started has no handler to learn of its close.
    if (this.#handler === undefined && this.#life.connections.delete(this)) {
      this.#watched((watcher, end) => watcher.closed(end, 'closedHere'));
    }
    this.#abandon('closedHere');
  }

  // What faults and ends of incarnations do.

  /** Breaks the connection at this side: the process learns of it, the other side does not. */
  break(reason: 'reset' | 'timedOut', cause: FaultId | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#overCause = cause;
    this.#out.dropPending();
    this.#inbox.clear();
    if (cause !== undefined && this.#life.alive) {
      const effect = reason === 'reset' ? 'connectionReset' : 'connectionTimedOut';
      this.#shared.ground.ledger.enter(cause, placeOf(this.peer.machine, this.machine), effect);
    }
    this.#close(reason);
  }

  /** `connection-reset`: breaks the connection once `bytes` more have arrived here. */
  breakAfter(bytes: number): void {
    this.#in.cutOffAfter(bytes);
  }

  /**
   * The incarnation is over. If the machine is on, its kernel closes the connection; otherwise the other side hears
   * nothing.
   */
  lifeEnded(machineOn: boolean, cause: FaultId | undefined): void {
    if (this.#over) return;
    if (machineOn) this.#leave(cause);
    else {
      this.#over = true;
      this.#overCause = cause;
      this.#out.dropPending();
      this.#out.dropStalled();
    }
  }

  // The kernel.

  arrive(segment: Segment): boolean {
    if (segment.reset) {
      this.break('reset', segment.cause);
      return false;
    }
    if (segment.opens) return this.#open();
    if (!this.#life.alive || this.#over) {
      if (segment.length > 0 || !this.#life.alive) this.#out.sendReset(this.#overCause);
      return false;
    }
    if (segment.ends) this.#inbox.ends = true;
    if (segment.length > 0 && this.#canHandOver(segment.length)) {
      if (segment.ends) this.#scheduleRead();
      return this.#handOver(segment.bytes());
    }
    if (segment.length > 0) this.#inbox.push(segment.bytes());
    this.#scheduleRead();
    return false;
  }

  cutOff(): void {
    this.#shared.ground.timeline.after(1, () => {
      this.break('reset', 'connection-reset');
      this.peer.break('reset', 'connection-reset');
    });
  }

  departed(): void {
    if (this.live) this.#borrowed.release(this.#written - this.#out.pendingBytes);
  }

  pumped(): boolean {
    const { highWaterBytes } = this.#shared.ground.tuning.network;
    if (!this.#needsDrain || this.#out.pendingBytes * 2 > highWaterBytes) return false;
    this.#needsDrain = false;
    const draining: TimelineEvent = { owner: this.#life, happen: () => this.#drain(draining) };
    return draining.happen();
  }

  endSent(): void {
    this.#finishWhenBothEnded();
  }

  gaveUp(cause: FaultId): void {
    this.break('timedOut', cause);
  }

  #watched(tell: (watcher: ConnectionWatcher, end: ConnectionEnd) => void): void {
    for (const watcher of this.#shared.watchers) tell(watcher, this.#end);
  }

  #leaves(): void {
    if (this.#left) return;
    this.#left = true;
    this.#watched((watcher, end) => watcher.left(end));
  }

  #open(): boolean {
    const accept = this.#accept;
    if (!this.#life.alive || this.#over || accept === undefined) {
      this.#out.sendReset(this.#overCause ?? 'process-crash');
      return false;
    }
    const accepting: TimelineEvent = {
      owner: this.#life,
      happen: () => this.#life.mayRun(accepting) && accept(this),
    };
    return accepting.happen();
  }

  /** From here on the server's process owns this side. */
  accepted(): void {
    this.#accept = undefined;
    this.#life.connections.add(this);
    this.#watched((watcher, end) => watcher.opened(end));
  }

  /** The listener has closed since the client's first packet; no process ever learns of the connection. */
  refuse(): void {
    this.#over = true;
    this.#out.sendReset(undefined);
  }

  /** Whether bytes may pass directly: nothing waits before them, and the process reads them at once. */
  #canHandOver(length: number): boolean {
    const isReady = this.#handler !== undefined && this.#reading && this.#life.runnable;
    return isReady && this.#inbox.mayPass(length);
  }

  #handOver(bytes: Uint8Array): boolean {
    const { trace } = this.#shared.ground;
    this.#shared.ground.enter(this.#life);
    this.#in.consumed(bytes.length);
    if (this.#shared.watchers.length > 0) this.#watched((watcher, end) => watcher.heard(end, bytes));
    trace.happened(worldEvents.delivered, this.#life.hostIndex, this.id, bytes.length, '', bytes);
    if (this.#life.alive) this.#handler?.onData(bytes);
    return true;
  }

  #scheduleRead(delayUs = 0): void {
    if (this.#readScheduled || !this.#reading || this.#handler === undefined || this.#over) return;
    if (!this.#inbox.waiting) return;
    this.#readScheduled = true;
    const { timeline } = this.#shared.ground;
    const reading: TimelineEvent = { owner: this.#life, happen: () => this.#read(reading) };
    timeline.schedule(timeline.nowUs + delayUs, reading);
  }

  /** Hands over the next piece, or the end. */
  #read(reading: TimelineEvent): boolean {
    if (!this.#life.mayRun(reading)) return false;
    this.#readScheduled = false;
    if (this.#over || !this.#reading) return false;
    if (this.#inbox.length === 0) return this.#tellEnd();
    const { bytes, split } = this.#inbox.take();
    this.#scheduleRead(split ? this.#shared.links.drawUs(this.peer.machine, this.machine) : 0);
    return this.#handOver(bytes);
  }

  #tellEnd(): boolean {
    if (!this.#inbox.waiting) return false;
    this.#inbox.endTold = true;
    this.#watched((watcher, end) => watcher.toldEnd(end));
    this.#shared.ground.trace.happened(worldEvents.ended, this.#life.hostIndex, this.id);
    if (this.#life.alive) this.#handler?.onEnd();
    this.#finishWhenBothEnded();
    return true;
  }

  #drain(draining: TimelineEvent): boolean {
    if (this.#over || !this.#life.mayRun(draining)) return false;
    this.#shared.ground.trace.happened(worldEvents.drained, this.#life.hostIndex, this.id);
    if (this.#life.alive) this.#handler?.onDrain();
    return true;
  }

  #finishWhenBothEnded(): void {
    if (this.#over || !this.#inbox.endTold || !this.#out.endSent) return;
    this.#over = true;
    this.#close('ended');
  }

  #abandon(reason: CloseReason): void {
    if (this.#over) return;
    this.#leave(undefined);
    this.#close(reason);
  }

  /** This side closes: what is pending is lost. The other side gets an end, or a reset if bytes were unread. */
  #leave(cause: FaultId | undefined): void {
    this.#over = true;
    this.#overCause = cause;
    const unread = this.#inbox.length > 0;
    this.#inbox.clear();
    this.#out.dropPending();
    if (unread) this.#out.sendReset(cause);
    else this.#out.end();
  }

  #close(reason: CloseReason): void {
    if (!this.#life.alive) return;
    this.#closed = reason;
    if (this.#handler === undefined) return;
    const { timeline } = this.#shared.ground;
    const closing: TimelineEvent = { owner: this.#life, happen: () => this.#tellClosed(closing) };
    timeline.schedule(timeline.nowUs, closing);
  }

  #tellClosed(closing: TimelineEvent): boolean {
    if (!this.#life.mayRun(closing)) return false;
    const reason = present(this.#closed, 'the reason of the close');
    this.#life.connections.delete(this);
    this.#borrowed.forget();
    this.#watched((watcher, end) => watcher.closed(end, reason));
    const { trace } = this.#shared.ground;
    trace.happened(worldEvents.closed, this.#life.hostIndex, this.id, closeReasons.indexOf(reason));
    if (this.#life.alive) this.#handler?.onClose(reason);
    return true;
  }
}
