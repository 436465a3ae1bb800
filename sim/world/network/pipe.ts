/**
 * One direction of a connection, as TCP carries it: the sender's bytes arrive in order, each once, after the
 * direction's latency, within a window of bytes that are under way or unread.
 *
 * Bytes that come due while the direction is blocked stall in the sender's kernel, and everything behind them. They
 * pass after the block is lifted, unless the sender's retransmission limit comes first and it gives up the connection.
 * Acknowledgements travel the other direction: while that one is blocked, bytes still arrive, but the window stays shut
 * behind them. A reset is sent once: if it cannot pass, the receiver never learns of it (a half-open connection).
 */
import type { Ticket } from '../core/agenda.ts';
import { ByteQueue } from './byte-queue.ts';
import { meddle } from './frame-faults.ts';
import type { WorldContext } from '../core/world-context.ts';
import type { FaultId } from '../core/fault-log.ts';
import type { Block, Links } from './links.ts';
import { placeOf } from './links.ts';
import type { Machine } from './machine.ts';
import { drawBetween } from '../core/random.ts';
import type { Carrier } from './segment.ts';
import { Segment } from './segment.ts';
import { worldEvents } from '../core/trace.ts';
import type { ConnectionWatcher } from '../core/watchers.ts';

/** What pipes share. */
export interface PipeContext {
  readonly ground: WorldContext;
  readonly links: Links;
  /** Pipes in which something waits for a direction to open. */
  readonly stalled: Set<Pipe>;
  readonly watchers: readonly ConnectionWatcher[];
}

/** The sender's side of a pipe. */
export interface Sender {
  /** Whether the sending process is alive. */
  readonly alive: boolean;
  /** More bytes have left the host; `pendingBytes` says how many have not. */
  departed(): void;
  /** Some pending bytes have left. Returns true if code of the engine ran. */
  pumped(): boolean;
  /** The end has left. */
  endSent(): void;
  /** No acknowledgement came within the retransmission limit. */
  gaveUp(cause: FaultId): void;
}

/** The receiver's side of a pipe. `arrive` returns whether code of the engine ran. */
export interface Receiver {
  arrive(segment: Segment): boolean;
  /** Both sides are reset at this position in the bytes (`connection-reset`). */
  cutOff(): void;
}

/** One direction of a connection. */
export class Pipe implements Carrier {
  readonly #shared: PipeContext;
  readonly #connection: number;
  readonly #from: Machine;
  readonly #to: Machine;
  #sender: Sender | undefined;
  #receiver: Receiver | undefined;

  // The sender's side.
  readonly #pending = new ByteQueue();
  #carriedBytes = 0;
  #windowUsed = 0;
  #opening = false;
  #joinable: Segment | undefined;
  #departsUs = 0;
  #arrivesUs = 0;
  #endAsked = false;
  #endSent = false;

  // Under way.
  #stalled: Segment[] = [];
  #unacknowledged = 0;
  #redelivering = false;
  #limit: Ticket | undefined;
  #cause: FaultId = 'network-partition';

  // The receiver's side.
  #arrived = 0;
  #cutOffAt = Infinity;

  constructor(shared: PipeContext, connection: number, from: Machine, to: Machine) {
    this.#shared = shared;
    this.#connection = connection;
    this.#from = from;
    this.#to = to;
  }

  join(sender: Sender, receiver: Receiver): void {
    this.#sender = sender;
    this.#receiver = receiver;
  }

  /** Bytes written that have not left the sender's host. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /** Bytes that have left it. */
  get leftBytes(): number {
    return this.#carriedBytes - this.#pending.length;
  }

  get endSent(): boolean {
    return this.#endSent;
  }

  /** Announces the connection to the receiver, before any byte. */
  open(): void {
    this.#dispatch(new Segment(this, this.#shared.ground.timeline.count, 'opens'), 0);
  }

  write(bytes: Uint8Array): void {
    const faults = this.#shared.links.frameFaults(this.#from, this.#to);
    if (faults === undefined) return this.#carry(bytes);
    const { ground, links } = this.#shared;
    meddle(bytes, faults, {
      random: links.random(this.#from, this.#to),
      memory: links.frameMemory(this.#from, this.#to),
      send: (frame) => this.#carry(frame),
      sendLater: (frame, delayUs) => this.#carryLater(frame, delayUs),
      note: (kind, effect) => ground.ledger.enter(kind, placeOf(this.#from, this.#to), effect),
    });
    // A lost frame has left the host nevertheless.
    ground.timeline.after(0, () => this.#sender?.departed());
  }

  #carryLater(bytes: Uint8Array, delayUs: number): void {
    this.#shared.ground.timeline.after(delayUs, () => {
      if (this.#sender?.alive === true && !this.#endAsked && !this.#endSent) this.#carry(bytes);
    });
  }

  #carry(bytes: Uint8Array): void {
    this.#carriedBytes += bytes.length;
    const room = this.#shared.ground.tuning.network.windowBytes - this.#windowUsed;
    if (this.#pending.length > 0 || room <= 0) this.#pending.push(bytes);
    else if (bytes.length <= room) this.#send(bytes);
    else {
      this.#send(bytes.subarray(0, room));
      this.#pending.push(bytes.subarray(room));
    }
  }

  /** Sends the end after the last pending byte. */
  end(): void {
    this.#endAsked = true;
    if (this.#pending.length === 0) this.#sendEnd();
  }

  /** The process is gone or wants no more: drops what is pending. What is under way still arrives. */
  dropPending(): void {
    this.#pending.clear();
    this.#endAsked = false;
  }

  /** The sender's machine is off: its kernel no longer retransmits. */
  dropStalled(): void {
    this.#stalled = [];
    this.#unacknowledged = 0;
    this.#settleStall();
  }

  sendReset(cause: FaultId | undefined): void {
    this.#dispatch(new Segment(this, this.#shared.ground.timeline.count, 'reset', cause), 0);
  }

  /** `connection-reset`: cuts the connection off once `bytes` more have arrived. */
  cutOffAfter(bytes: number): void {
    this.#cutOffAt = Math.min(this.#cutOffAt, this.#arrived + bytes);
  }

  /** A segment comes due at the receiver's machine. */
  arrive(segment: Segment): boolean {
    // Releases the segment's bytes as soon as it is no longer under way.
    if (this.#joinable === segment) this.#joinable = undefined;
    this.#sender?.departed();
    const open = this.#shared.links.passable(this.#from, this.#to);
    if (segment.reset) return open && this.#deliver(segment);
    if (open && this.#stalled.length === 0) return this.#deliver(segment);
    if (!open) this.#noteStall('deliveryStalled', this.#from, this.#to, segment.length);
    this.#stalled.push(segment);
    return false;
  }

  /** The receiver has read bytes: the window moves on once the sender gets the acknowledgement. */
  consumed(bytes: number): void {
    const { links } = this.#shared;
    if (this.#sender?.alive !== true) return;
    if (!links.passable(this.#to, this.#from)) {
      this.#unacknowledged += bytes;
      this.#noteStall('acknowledgementStalled', this.#to, this.#from, bytes);
      return;
    }
    this.#windowUsed -= bytes;
    if (this.#pending.length > 0) this.#openWindow(0);
  }

  /** Some direction has opened, perhaps this pipe's or the one back. */
  revive(): void {
    const { links, ground } = this.#shared;
    const backOffUs = this.#drawBackOffUs();
    if (this.#unacknowledged > 0 && links.passable(this.#to, this.#from)) {
      this.#windowUsed -= this.#unacknowledged;
      this.#unacknowledged = 0;
      if (this.#pending.length > 0) this.#openWindow(backOffUs);
    }
    if (this.#stalled.length > 0 && links.passable(this.#from, this.#to) && !this.#redelivering) {
      this.#redeliver(ground.timeline.nowUs + backOffUs + links.drawUs(this.#from, this.#to));
    }
    this.#settleStall();
  }

  #send(bytes: Uint8Array): void {
    const { timeline, tuning } = this.#shared.ground;
    this.#windowUsed += bytes.length;
    const transmissionUs = Math.floor(bytes.length / tuning.network.bytesPerUs);
    const joinable = this.#joinable;
    if (joinable !== undefined && joinable.turn === timeline.count && !joinable.ends) {
      joinable.add(bytes);
      this.#departsUs += transmissionUs;
      return;
    }
    const segment = new Segment(this, timeline.count, 'none');
    segment.add(bytes);
    this.#joinable = segment;
    this.#shared.links.noteSent(this.#from, this.#to);
    this.#dispatch(segment, transmissionUs);
  }

  #sendEnd(): void {
    if (this.#endSent) return;
    const { timeline } = this.#shared.ground;
    this.#endSent = true;
    const joinable = this.#joinable;
    if (joinable !== undefined && joinable.turn === timeline.count) joinable.ends = true;
    else {
      const segment = new Segment(this, timeline.count, 'none');
      segment.ends = true;
      this.#dispatch(segment, 0);
    }
    this.#sender?.endSent();
  }

  /** Puts a segment under way, behind everything sent before. */
  #dispatch(segment: Segment, transmissionUs: number): void {
    const { timeline } = this.#shared.ground;
    const nowUs = timeline.nowUs;
    this.#departsUs = (this.#departsUs > nowUs ? this.#departsUs : nowUs) + transmissionUs;
    const arrivesUs = this.#departsUs + this.#shared.links.drawUs(this.#from, this.#to);
    if (arrivesUs > this.#arrivesUs) this.#arrivesUs = arrivesUs;
    timeline.schedule(this.#arrivesUs, segment);
  }

  #deliver(segment: Segment): boolean {
    const receiver = this.#receiver;
    if (receiver === undefined) return false;
    this.#arrived += segment.length;
    if (this.#arrived < this.#cutOffAt) return receiver.arrive(segment);
    // Bytes before the cut still arrive.
    const kept = segment.length - (this.#arrived - this.#cutOffAt);
    this.#cutOffAt = Infinity;
    receiver.cutOff();
    if (kept <= 0) return false;
    const before = new Segment(this, segment.turn, 'none');
    before.add(segment.bytes().subarray(0, kept));
    return receiver.arrive(before);
  }

  /** The sender learns that the window has space again, and sends what fits. */
  #openWindow(extraUs: number): void {
    if (this.#opening) return;
    this.#opening = true;
    const { ground, links } = this.#shared;
    const atUs = ground.timeline.nowUs + extraUs + links.drawUs(this.#to, this.#from);
    ground.timeline.schedule(atUs, { owner: undefined, happen: () => this.#pump() });
  }

  #pump(): boolean {
    this.#opening = false;
    if (this.#sender?.alive !== true) return false;
    const room = this.#shared.ground.tuning.network.windowBytes - this.#windowUsed;
    if (room <= 0 || this.#pending.length === 0) return false;
    this.#send(this.#pending.take(room));
    if (this.#pending.length === 0 && this.#endAsked) this.#sendEnd();
    return this.#sender.pumped();
  }

  #noteStall(
    effect: 'deliveryStalled' | 'acknowledgementStalled',
    from: Machine,
    to: Machine,
    bytes: number,
  ): void {
    const { ground, links } = this.#shared;
    const block = links.blockOf(from, to);
    ground.ledger.enter(block.kind, placeOf(from, to), effect);
    ground.trace.happened(worldEvents.stalled, to.index, this.#connection, bytes);
    this.#wait(block);
  }

  /** Waits for a direction to open: without limit if the block is lossless, otherwise for the retransmission limit. */
  #wait(block: Block): void {
    this.#cause = block.kind;
    this.#shared.stalled.add(this);
    if (!block.lossless) this.#armLimit();
  }

  #armLimit(): void {
    if (this.#limit !== undefined) return;
    const { ground, links } = this.#shared;
    const delayUs = drawBetween(links.random(this.#from, this.#to), ground.tuning.network.retransmissionUs);
    this.#limit = ground.timeline.schedule(ground.timeline.nowUs + delayUs, {
      owner: undefined,
      happen: () => this.#giveUp(),
    });
  }

  #giveUp(): boolean {
    this.#limit = undefined;
    this.dropStalled();
    this.#sender?.gaveUp(this.#cause);
    return false;
  }

  /** Cancels the limit if nothing waits any more. */
  #settleStall(): void {
    if (this.#stalled.length > 0 && !this.#redelivering) return;
    if (this.#unacknowledged > 0) return;
    if (this.#limit !== undefined) this.#shared.ground.timeline.cancel(this.#limit);
    this.#limit = undefined;
    if (this.#stalled.length === 0) this.#shared.stalled.delete(this);
  }

  #redeliver(atUs: number): void {
    this.#redelivering = true;
    this.#shared.ground.timeline.schedule(atUs, {
      owner: undefined,
      happen: () => this.#redeliverNext(),
    });
  }

  #redeliverNext(): boolean {
    this.#redelivering = false;
    const { links, ground } = this.#shared;
    if (this.#stalled.length > 0 && !links.passable(this.#from, this.#to)) {
      // Blocked again in the meantime; the fault log already counts these deliveries.
      this.#wait(links.blockOf(this.#from, this.#to));
      return false;
    }
    const segment = this.#stalled.shift();
    if (this.#stalled.length > 0) this.#redeliver(ground.timeline.nowUs);
    else this.#settleStall();
    return segment !== undefined && this.#deliver(segment);
  }

  /** Retransmission backs off while nothing passes: what stalled passes some time after the direction opened. */
  #drawBackOffUs(): number {
    const { links, ground } = this.#shared;
    if (this.#limit === undefined) return 0;
    return links.random(this.#from, this.#to).below(ground.tuning.network.backOffUsMax + 1);
  }
}
