/**
 * The directions between machines: how long a packet takes, and whether it passes. Blocks and delays of one direction
 * accumulate and are lifted separately, so that overlapping partitions heal correctly.
 */
import { assert } from '../../../engine/base/assert.ts';
import type { WorldContext } from '../core/world-context.ts';
import type { FrameFault } from './frame-faults.ts';
import type { Latency } from '../core/latency.ts';
import { drawLatency } from '../core/latency.ts';
import type { FaultId } from '../core/fault-log.ts';
import type { Machine } from './machine.ts';
import type { WorldRandom } from '../core/random.ts';

/** Why packets of a direction do not pass. */
export interface Block {
  readonly kind: FaultId;
  /**
   * Packets wait and pass once the block is lifted. Otherwise they are lost and sent again, until the sender gives up.
   */
  readonly lossless: boolean;
}

/** From that packet of a host on, each takes this time; 0: a drawn one. */
export interface Pace {
  readonly packet: number;
  readonly delayUs: number;
}

const machinesMax = 128;
const offBlock: Block = { kind: 'process-crash', lossless: false };

/** All directions of one world. */
export class Links {
  readonly #ground: WorldContext;
  readonly #random: WorldRandom;
  /** The number of blocks of each direction; the blocks themselves are needed only when something stalls. */
  readonly #blockCounts = new Uint8Array(machinesMax * machinesMax);
  readonly #blocks = new Map<number, Block[]>();
  readonly #slow = new Map<number, Latency[]>();
  /** Hosts whose packets take the mean time, each from which packet on. */
  readonly #steady = new Map<string, number>();
  /** Packets that such a host has sent. */
  readonly #sent = new Map<string, number>();
  /** Hosts whose packets have paces, and how many each has sent. */
  readonly #paced = new Map<string, { readonly paces: readonly Pace[]; sent: number }>();
  readonly #frameFaults = new Map<number, FrameFault[]>();
  /** Frames that passed a direction under a frame fault; kept over connections and faults. */
  readonly #frames = new Map<number, Uint8Array[]>();
  readonly #shredded = new Map<number, number>();
  readonly #randoms = new Array<WorldRandom | undefined>(machinesMax * machinesMax);

  constructor(ground: WorldContext) {
    this.#ground = ground;
    this.#random = ground.random.fork('net');
  }

  /** Whether a packet that arrives now passes: the direction is open and the machine at its end answers. */
  passable(from: Machine, to: Machine): boolean {
    return to.on && this.#blockCounts[directionOf(from, to)] === 0;
  }

  /** Why it does not pass. */
  blockOf(from: Machine, to: Machine): Block {
    return this.#blocks.get(directionOf(from, to))?.at(-1) ?? offBlock;
  }

  /** Draws how long a packet that leaves now takes, in microseconds. */
  drawUs(from: Machine, to: Machine): number {
    const { latency, loopback } = this.#ground.tuning.network;
    const random = this.random(from, to);
    if (from === to) return drawLatency(random, loopback);
    const slower = this.#slow.size === 0 ? undefined : this.#slow.get(directionOf(from, to))?.at(-1);
    // A steady direction draws as well, so that its stream stands where it would stand otherwise.
    const drawnUs = drawLatency(random, slower ?? latency);
    const pacedUs = this.#paced.size === 0 ? 0 : this.#pacedUs(from.name);
    if (pacedUs > 0 && slower === undefined) return pacedUs;
    const isSteady = this.#steady.size > 0 && this.#isSteady(from.name) && slower === undefined;
    return isSteady ? latency.minUs + latency.meanUs : drawnUs;
  }

  /** From their packet of that number on, all that the hosts send takes the mean time, where no fault slows it. */
  steady(hosts: readonly string[], packet = 0): void {
    for (const name of hosts) this.#steady.set(name, packet);
  }

  /** What the host sends takes these times, where no fault slows it. Paces are in the order of their packets. */
  pace(host: string, paces: readonly Pace[]): void {
    this.#paced.set(host, { paces, sent: 0 });
  }

  /** All packets take drawn times again. */
  unpace(): void {
    this.#paced.clear();
  }

  /** How long the host's next packet takes; 0: a drawn time. Counts it. */
  #pacedUs(host: string): number {
    const paced = this.#paced.get(host);
    if (paced === undefined) return 0;
    const number = paced.sent++;
    return paced.paces.findLast(({ packet }) => packet <= number)?.delayUs ?? 0;
  }

  /** Whether the host's next packet is a steady one; counts it. */
  #isSteady(host: string): boolean {
    const from = this.#steady.get(host);
    if (from === undefined) return false;
    const number = this.#sent.get(host) ?? 0;
    this.#sent.set(host, number + 1);
    return number >= from;
  }

  /** Bytes leave now: records in the fault log that the direction is slow, if it is. */
  noteSent(from: Machine, to: Machine): void {
    if (this.#slow.size === 0 || !this.#slow.has(directionOf(from, to))) return;
    this.#ground.ledger.enter('network-delay', placeOf(from, to), 'deliveryDelayed');
  }

  /** The direction's own random stream. */
  random(from: Machine, to: Machine): WorldRandom {
    const direction = directionOf(from, to);
    return (this.#randoms[direction] ??= this.#random.fork(placeOf(from, to)));
  }

  /** Blocks a direction until `unblock` with the same block. */
  block(from: Machine, to: Machine, block: Block): void {
    assert(from !== to, 'a host always reaches itself');
    const direction = directionOf(from, to);
    this.#blocks.set(direction, [...(this.#blocks.get(direction) ?? []), block]);
    this.#countBlocks(direction);
    this.#ground.ledger.enter(block.kind, placeOf(from, to), 'injected');
  }

  unblock(from: Machine, to: Machine, block: Block): void {
    const direction = directionOf(from, to);
    const rest = (this.#blocks.get(direction) ?? []).filter((other) => other !== block);
    this.#blocks.set(direction, rest);
    this.#countBlocks(direction);
  }

  /** Gives a direction another latency until `unslow` with the same latency; the newest one counts. */
  slow(from: Machine, to: Machine, latency: Latency): void {
    const direction = directionOf(from, to);
    this.#slow.set(direction, [...(this.#slow.get(direction) ?? []), latency]);
    this.#ground.ledger.enter('network-delay', placeOf(from, to), 'injected');
  }

  unslow(from: Machine, to: Machine, latency: Latency): void {
    const direction = directionOf(from, to);
    const rest = (this.#slow.get(direction) ?? []).filter((other) => other !== latency);
    if (rest.length > 0) this.#slow.set(direction, rest);
    else this.#slow.delete(direction);
  }

  /** Applies a frame fault to a direction until `leaveAlone` with the same fault. */
  meddle(from: Machine, to: Machine, fault: FrameFault): void {
    const direction = directionOf(from, to);
    this.#frameFaults.set(direction, [...(this.#frameFaults.get(direction) ?? []), fault]);
    this.#ground.ledger.enter(fault.kind, placeOf(from, to), 'injected');
  }

  leaveAlone(from: Machine, to: Machine, fault: FrameFault): void {
    const direction = directionOf(from, to);
    const rest = (this.#frameFaults.get(direction) ?? []).filter((other) => other !== fault);
    if (rest.length > 0) this.#frameFaults.set(direction, rest);
    else this.#frameFaults.delete(direction);
  }

  /** The frame faults of a direction now; undefined if there are none. */
  frameFaults(from: Machine, to: Machine): readonly FrameFault[] | undefined {
    return this.#frameFaults.size === 0 ? undefined : this.#frameFaults.get(directionOf(from, to));
  }

  /** The frames remembered for a direction. */
  frameMemory(from: Machine, to: Machine): Uint8Array[] {
    const direction = directionOf(from, to);
    const known = this.#frames.get(direction);
    if (known !== undefined) return known;
    const memory: Uint8Array[] = [];
    this.#frames.set(direction, memory);
    return memory;
  }

  /**
   * `stream-fragmentation`: cuts every delivery of a direction into pieces until `unshred`; counted, since faults may
   * overlap.
   */
  shred(from: Machine, to: Machine): void {
    const direction = directionOf(from, to);
    this.#shredded.set(direction, (this.#shredded.get(direction) ?? 0) + 1);
    this.#ground.ledger.enter('stream-fragmentation', placeOf(from, to), 'injected');
  }

  unshred(from: Machine, to: Machine): void {
    const direction = directionOf(from, to);
    const left = (this.#shredded.get(direction) ?? 1) - 1;
    if (left > 0) this.#shredded.set(direction, left);
    else this.#shredded.delete(direction);
  }

  shreds(from: Machine, to: Machine): boolean {
    return this.#shredded.size > 0 && this.#shredded.has(directionOf(from, to));
  }

  #countBlocks(direction: number): void {
    this.#blockCounts[direction] = Math.min(this.#blocks.get(direction)?.length ?? 0, 255);
  }
}

/** A direction's name in the fault log: `n1>n2`. */
export function placeOf(from: Machine, to: Machine): string {
  return `${from.name}>${to.name}`;
}

function directionOf(from: Machine, to: Machine): number {
  assert(from.index < machinesMax && to.index < machinesMax, 'a world has at most 128 hosts');
  return from.index * machinesMax + to.index;
}
