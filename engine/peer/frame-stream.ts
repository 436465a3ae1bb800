/**
 * A connection as a stream of frames: decodes what comes, gathers what goes, ends in order or at once.
 *
 * Outgoing items wait in a bounded outbox. All that is there when the writer wakes leaves in one go, and frames that
 * lie side by side leave as one run of bytes; while the connection is congested nothing leaves and the outbox fills.
 * A stream whose input makes output then takes no more frames either, so that the other side feels it.
 * Bytes that are no frame cut the connection: there is no telling where the next frame would begin.
 *
 * `onClosed` is called exactly once, last, when the door has said that the connection is over.
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

export interface StreamSettings {
  /** Names the stream's tasks. */
  readonly name: string;
  readonly limits: PeerLimits;
  /** Where the memory for frames comes from. */
  readonly chunks: ChunkPool;
  readonly outbox: ChannelLimits;
  readonly lingerUs: number;
  /** Take no frame while much waits to leave: for a stream whose input makes output. */
  readonly holdWhenCongested: boolean;
}

export interface StreamHandler<T> {
  /** A frame has come. Throws `FrameError` when it does not belong here, which cuts the connection. */
  onFrame(frame: Frame): void;
  /** Bytes have come, of whatever kind. */
  onHeard(): void;
  /** An item leaves the outbox: its frame, or undefined when it is not to be sent any more (and has been released). */
  onDepart(item: T): Buffer | undefined;
  onRejected(error: FrameError): void;
  onClosed(cause: CloseCause, detail: string): void;
}

interface Ending {
  readonly cause: CloseCause;
  readonly detail: string;
}

/** Bytes handed to the connection before the writer yields; with as many waiting, a holding stream takes no frames. */
const gatherBytesMax = 256 * 1024;

export class FrameStream<T> {
  /** Where the frames of this stream are encoded. */
  readonly arena: FrameArena;
  readonly outbox: Channel<T>;
  readonly #io: Io;
  readonly #connection: Connection;
  readonly #settings: StreamSettings;
  readonly #handler: StreamHandler<T>;
  readonly #decoder: FrameDecoder;
  readonly #take = (): void => this.#takeFrames();
  readonly #flow = (): void => this.#writeOrFail();
  /** The task of writing: ends with the stream, and fails with what writing throws. */
  readonly #writing = new Deferred<void>();
  #ending: Ending | undefined;
  #congested: Deferred<void> | undefined;
  /** Frames are not taken now; the connection is paused. */
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

  /** Neither ended nor about to be. */
  get open(): boolean {
    return this.#ending === undefined;
  }

  get remote(): string {
    return this.#connection.remote;
  }

  start(): void {
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
   * Sends a frame past the outbox: greetings, pings and pongs. One of this stream's `arena` is `lent`; one that nobody
   * ever changes is `lasting`, and may leave by many streams.
   */
  control(frame: Buffer, memory: 'lent' | 'lasting' = 'lent'): void {
    const owner = memory === 'lent' ? this.arena : undefined;
    if (!this.open) owner?.released(frame);
    else if (!this.#connection.write(frame, owner)) this.#congest();
  }

  /** Cuts the connection now; what has not left may be lost. `cause` is what `onClosed` will say. */
  close(cause: CloseCause, detail: string): void {
    if (!this.#beginEnding(cause, detail)) return;
    this.#connection.destroy();
  }

  /** Ends in order: what is in the outbox still leaves, then the other side has `lingerUs` to end as well. */
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

  /** Goes on where holding stopped, unless it must go on holding. */
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

  /** Runs a step of decoding; what is no frame or no message is reported and cuts the connection. */
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
   * Writes what waits, and is called again when something does, or when the connection has room: no conversation, since
   * every frame of the plane comes through here.
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
    // Mostly one waits, and it leaves as it is.
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

  /** The next frame that is to leave; undefined when the outbox is empty. */
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
