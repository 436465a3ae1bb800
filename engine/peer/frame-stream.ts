/**
 * A connection as a stream of frames: decodes incoming frames, batches outgoing ones, and closes in order or at once.
 *
 * Outgoing items wait in a bounded outbox. Whatever is there when the writer wakes is written in one batch; frames that
 * are adjacent in memory are written as one run of bytes. While the connection is congested, nothing is written and the
 * outbox fills. A stream whose input produces output then takes no more frames either, so that the other side feels the
 * back-pressure. Bytes that are no frame cut the connection: the decoder cannot tell where the next frame begins.
 *
 * `onClosed` is called exactly once, last, when the network port has reported that the connection is over.
 */
import { assert } from '../base/assert.ts';
import type { ChannelLimits } from '../base/channel.ts';
import { Channel } from '../base/channel.ts';
import { Deferred } from '../base/deferred.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { CloseReason, Connection } from '../io/network.ts';
import type { ChunkPool } from './wire/chunk-pool.ts';
import { FrameArena, mergeRuns } from './wire/frame-arena.ts';
import type { Frame } from './wire/frames.ts';
import { FrameDecoder, FrameError } from './wire/frames.ts';
import type { CloseCause } from './observer.ts';
import type { PeerLimits } from './options.ts';

/** Settings of one stream. */
export interface StreamSettings {
  /** The prefix of the stream's task names. */
  readonly name: string;
  readonly limits: PeerLimits;
  /** Where the memory for frames comes from. */
  readonly chunks: ChunkPool;
  readonly outbox: ChannelLimits;
  /** How long none of the bytes that wait may leave before the connection is cut, in microseconds. */
  readonly patienceUs: number;
  /** How long an orderly end waits for the other side to end as well, in microseconds. */
  readonly lingerUs: number;
  /** Take no frames while much output waits: for a stream whose input produces output. */
  readonly holdWhenCongested: boolean;
}

/** Receives a stream's events. */
export interface StreamHandler<T> {
  /** A frame has arrived. Throws `FrameError` if the frame does not belong here, which cuts the connection. */
  onFrame(frame: Frame): void;
  /** Any bytes have arrived. */
  onHeard(): void;
  /** An item leaves the outbox. Returns its frame, or undefined if the item is void; its frame was released then. */
  onDepart(item: T): Buffer | undefined;
  /** Bytes have arrived that are no frame, or a frame that is no message. The connection is cut next. */
  onRejected(error: FrameError): void;
  /** The connection is over; called last. `detail`: text for people. */
  onClosed(cause: CloseCause, detail: string): void;
}

interface Ending {
  readonly cause: CloseCause;
  readonly detail: string;
}

/** Bytes handed to the connection before the writer yields. While this many wait, a holding stream takes no frames. */
const gatherBytesMax = 256 * 1024;

/** One connection of the peer plane. `T`: the items of its outbox. */
export class FrameStream<T> {
  /** Where the frames of this stream are encoded. */
  readonly arena: FrameArena;
  /** Items that wait to be written. */
  readonly outbox: Channel<T>;
  readonly #io: Io;
  readonly #connection: Connection;
  readonly #settings: StreamSettings;
  readonly #handler: StreamHandler<T>;
  readonly #decoder: FrameDecoder;
  readonly #take = (): void => this.#takeFrames();
  readonly #flow = (): void => this.#writeOrFail();
  /** The writing task: ends with the stream, and fails with whatever writing throws. */
  readonly #writing = new Deferred<void>();
  #ending: Ending | undefined;
  #congested: Deferred<void> | undefined;
  /** True while no frames are taken and the connection is paused. */
  #holding = false;
  #linger: Timer | undefined;

  constructor(io: Io, connection: Connection, settings: StreamSettings, handler: StreamHandler<T>) {
    this.#io = io;
    this.#connection = connection;
    this.#settings = settings;
    this.#handler = handler;
    this.arena = new FrameArena(settings.limits, settings.chunks);
    this.outbox = new Channel<T>(settings.outbox);
    this.#decoder = new FrameDecoder(settings.limits);
  }

  /** True until the stream ends or begins to end. */
  get open(): boolean {
    return this.#ending === undefined;
  }

  /** The other side's address, as text. */
  get remote(): string {
    return this.#connection.remote;
  }

  /** Whether bytes wait to leave this node. */
  get sending(): boolean {
    return this.#connection.pendingBytes > 0;
  }

  /** Starts reading and writing. Call it once. */
  start(): void {
    this.#connection.setPatience(this.#settings.patienceUs);
    this.#connection.start({
      onData: (chunk) => this.#receive(chunk),
      onDrain: () => this.#relieve(),
      onEnd: () => this.#receiveEnd(),
      onClose: (reason) => this.#closed(reason),
    });
    this.#io.spawn(`${this.#settings.name}.write`, () => this.#writing.promise);
    this.outbox.whenReady(this.#flow);
  }

  /**
   * Writes a frame without the outbox: greetings, pings and pongs. `lent`: a frame of this stream's `arena`, which gets
   * it back. `lasting`: a frame that never changes and may be sent on many streams.
   */
  control(frame: Buffer, memory: 'lent' | 'lasting' = 'lent'): void {
    const owner = memory === 'lent' ? this.arena : undefined;
    if (!this.open) owner?.released(frame);
    else if (!this.#connection.write(frame, owner)) this.#congest();
  }

  /** Cuts the connection now; unwritten frames may be lost. `cause` and `detail` go to `onClosed`. */
  close(cause: CloseCause, detail: string): void {
    if (!this.#beginEnding(cause, detail)) return;
    this.#connection.destroy();
  }

  /**
   * Ends the connection in order: writes what is in the outbox, then gives the other side `lingerUs` to end as well.
   */
  finish(cause: CloseCause, detail: string): void {
    if (!this.open) return;
    while (this.outbox.length > 0) this.#gather();
    this.#beginEnding(cause, detail);
    this.#connection.end();
    this.#linger = this.#io.clock.after(this.#settings.lingerUs, () => this.#connection.destroy());
  }

  #beginEnding(cause: CloseCause, detail: string): boolean {
    if (!this.open) return false;
    this.#ending = { cause, detail };
    this.outbox.close();
    this.#relieve();
    return true;
  }

  #receive(chunk: Uint8Array): void {
    if (!this.open) return;
    this.#handler.onHeard();
    this.#decoder.push(chunk);
    this.#judge(this.#take);
  }

  #takeFrames(): void {
    while (this.open) {
      if (this.#mustHold()) {
        this.#hold();
        return;
      }
      const frame = this.#decoder.next();
      if (frame === undefined) return;
      this.#handler.onFrame(frame);
    }
  }

  #mustHold(): boolean {
    const { holdWhenCongested, outbox } = this.#settings;
    if (!holdWhenCongested) return false;
    if (this.#congested !== undefined) return true;
    return this.outbox.bytes >= gatherBytesMax || this.outbox.length * 2 >= outbox.countMax;
  }

  #hold(): void {
    if (this.#holding) return;
    this.#holding = true;
    this.#connection.pause();
  }

  /** Resumes after holding, unless the stream must still hold. */
  #release(): void {
    if (!this.#holding || !this.open || this.#mustHold()) return;
    this.#holding = false;
    this.#judge(this.#take);
    this.#resume();
  }

  #resume(): void {
    if (!this.#holding && this.open) this.#connection.resume();
  }

  #receiveEnd(): void {
    if (!this.open) return;
    this.#judge(() => this.#decoder.end());
    this.close('eof', 'the peer ended the connection');
  }

  /** Runs a decoding step. Bytes that are no frame or no message are reported, and cut the connection. */
  #judge(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#handler.onRejected(error);
      this.close('error', error.message);
    }
  }

  #writeOrFail(): void {
    try {
      this.#write();
    } catch (error) {
      this.#writing.reject(error);
    }
  }

  /**
   * Writes what waits. Called again when an item arrives, or when the connection can take more. It is no task of its
   * own, since every frame of the plane passes here.
   */
  #write(): void {
    while (this.open) {
      this.#gather();
      if (this.#congested !== undefined) {
        void this.#congested.promise.then(this.#flow, this.#flow);
        return;
      }
      this.#release();
      if (this.outbox.length === 0) {
        this.outbox.whenReady(this.#flow);
        return;
      }
    }
    this.#writing.resolve();
  }

  #gather(): void {
    const first = this.#nextFrame();
    if (first === undefined) return;
    // Mostly one frame waits, and is written as it is.
    const runs = this.outbox.length === 0 ? undefined : this.#gatherRuns(first);
    let writable = true;
    if (runs === undefined) writable = this.#connection.write(first, this.arena);
    else for (const run of runs) writable = this.#connection.write(run, this.arena);
    if (!writable) this.#congest();
  }

  #gatherRuns(first: Buffer): readonly Uint8Array[] {
    const frames = [first];
    let bytes = first.length;
    while (bytes < gatherBytesMax) {
      const frame = this.#nextFrame();
      if (frame === undefined) break;
      frames.push(frame);
      bytes += frame.length;
    }
    return mergeRuns(frames);
  }

  /** The next frame to write; undefined if the outbox is empty. */
  #nextFrame(): Buffer | undefined {
    for (;;) {
      const item = this.outbox.tryReceive();
      if (item === undefined) return undefined;
      const frame = this.#handler.onDepart(item);
      if (frame !== undefined) return frame;
    }
  }

  #congest(): void {
    this.#congested ??= new Deferred<void>();
  }

  #relieve(): void {
    this.#congested?.resolve();
    this.#congested = undefined;
    this.#release();
  }

  #closed(reason: CloseReason): void {
    this.#linger?.cancel();
    const ending = this.#ending ?? endingOf(reason);
    this.#beginEnding(ending.cause, ending.detail);
    this.#handler.onClosed(ending.cause, ending.detail);
    this.arena.close();
  }
}

function endingOf(reason: CloseReason): Ending {
  assert(reason !== 'closedHere', 'only this stream destroys its connection');
  if (reason === 'ended') return { cause: 'eof', detail: 'the peer ended the connection' };
  if (reason === 'timedOut') return { cause: 'timedOut', detail: 'the connection timed out' };
  return { cause: 'error', detail: 'the connection was reset' };
}
