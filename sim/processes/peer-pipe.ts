/**
 * One direction of a connection between two nodes, through a proxy: bytes pass in order, each not before its delay is
 * over and the direction is open. The end of the stream, and its breaking, wait behind the bytes.
 */
import type { Socket } from 'node:net';

import type { FrameFault } from '../world/network/frame-faults.ts';
import { meddle } from '../world/network/frame-faults.ts';
import { headerBytes } from '../../engine/peer/wire/frames.ts';
import type { WorldRandom } from '../world/core/random.ts';

/** What a direction between two nodes does to what passes; shared by all connections. */
export interface Direction {
  /** How many faults block it. */
  blocks: number;
  /** Draws how long bytes take, in milliseconds. */
  delayMs(): number;
  readonly frameFaults: readonly FrameFault[];
  /** Bytes arrive in small pieces. */
  readonly shreds: boolean;
  readonly random: WorldRandom;
  /** The newest frames that passed (`message-replay`). */
  readonly memory: Uint8Array[];
}

interface Piece {
  readonly dueMs: number;
  readonly act: () => void;
  readonly bytes: number;
}

const lengthAt = 12;
const magic = 0x4c5350;
const queuedBytesMax = 8 * 1024 * 1024;

/** Passes bytes from one socket to another. */
export class PeerPipe {
  readonly #direction: Direction;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #queue: Piece[] = [];
  #queuedBytes = 0;
  #lastDueMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The beginning of a frame whose rest has not come. */
  #rest: Buffer = Buffer.alloc(0);
  #isRaw = false;

  constructor(direction: Direction, from: Socket, to: Socket) {
    this.#direction = direction;
    this.#from = from;
    this.#to = to;
  }

  /** Bytes have come. */
  take(chunk: Buffer): void {
    const whole = this.#wholeFrames(chunk);
    if (whole.length === 0) return;
    const { frameFaults, random, memory } = this.#direction;
    if (frameFaults.length === 0) {
      this.#send(whole);
      return;
    }
    meddle(whole, frameFaults, {
      random,
      memory,
      send: (bytes) => this.#send(bytes),
      sendLater: (bytes, delayUs) => {
        const late = Buffer.from(bytes);
        setTimeout(() => this.#send(late), delayUs / 1000).unref();
      },
      note: () => undefined,
    });
  }

  /** The sender has ended its side. */
  end(): void {
    this.#flushRest();
    this.#add(0, () => this.#to.end());
  }

  /** The sender is gone, and the other side hears of it as of a process that was killed. */
  break(): void {
    this.#add(0, () => this.#to.resetAndDestroy());
  }

  /** Sends what may pass now. */
  pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#direction.blocks === 0) {
      const [piece] = this.#queue;
      if (piece === undefined) break;
      const waitMs = piece.dueMs - performance.now();
      if (waitMs > 0.5) {
        this.#timer = setTimeout(() => this.pump(), waitMs);
        break;
      }
      this.#queue.shift();
      this.#queuedBytes -= piece.bytes;
      piece.act();
    }
    if (this.#queuedBytes < queuedBytesMax && this.#from.isPaused()) this.#from.resume();
  }

  #send(bytes: Uint8Array): void {
    // The view's memory may be reused while the bytes wait.
    const own = Buffer.from(bytes);
    if (!this.#direction.shreds) {
      this.#add(own.length, () => this.#write(own));
      return;
    }
    for (let at = 0; at < own.length;) {
      const piece = own.subarray(at, at + 1 + this.#direction.random.below(64));
      at += piece.length;
      this.#add(piece.length, () => this.#write(piece));
    }
  }

  #write(bytes: Buffer): void {
    if (!this.#to.destroyed && this.#to.writable) this.#to.write(bytes);
  }

  #add(bytes: number, act: () => void): void {
    const dueMs = Math.max(this.#lastDueMs, performance.now() + this.#direction.delayMs());
    this.#lastDueMs = dueMs;
    this.#queue.push({ dueMs, act, bytes });
    this.#queuedBytes += bytes;
    if (this.#queuedBytes >= queuedBytesMax) this.#from.pause();
    if (this.#timer === undefined) this.pump();
  }

  /** The whole frames so far; all bytes, once they are no frames. */
  #wholeFrames(chunk: Buffer): Buffer {
    if (this.#isRaw) return chunk;
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at + headerBytes <= bytes.length) {
      if (bytes.readUIntBE(at, 3) !== magic) {
        this.#isRaw = true;
        this.#rest = Buffer.alloc(0);
        return bytes;
      }
      const end = at + headerBytes + bytes.readUInt32BE(at + lengthAt);
      if (end > bytes.length) break;
      at = end;
    }
    this.#rest = bytes.subarray(at);
    return bytes.subarray(0, at);
  }

  #flushRest(): void {
    if (this.#rest.length === 0) return;
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    this.#send(rest);
  }
}
