/**
 * The bounded entrance to a store. A request is accepted, or refused at once as `full` or `closed`. An accepted request
 * is answered once. A read that takes too long is answered `Timeout`. A write is answered by the store alone, however
 * late: its caller holds what depends on the outcome until then (the key's newest object, locks, a decision), and later
 * writes may contain this one. So no write is given up in the queue either. Callers answer their clients in time.
 *
 * Reads and writes have separate limits, and reads never wait behind writes. A request is first *queued* (`in`:
 * accepted, not yet passed to the store) and then *in the store* (`out`). Writes beyond what one flush should carry are
 * queued, and so are reads that need the disk beyond `diskReadsMax`. A read that memory can answer is answered at once.
 *
 * `done` of a read is called within `tryRead` if memory holds the answer. In every other case, and always for writes,
 * it is called later.
 */
import type { SendOutcome } from '../base/channel.ts';
import { Channel } from '../base/channel.ts';
import { LockstepError, asLockstepError } from '../base/errors.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import type { StoreIo } from './store-io.ts';
import type { StoreObserver } from './observer.ts';
import type { StoreWrite, WriteDone } from './log/record.ts';
import type { Store } from './store.ts';

/** Limits of a driver. */
export interface DriverLimits {
  /** Limits of queued requests, of each kind, and of their bytes. */
  readonly queueCountMax: number;
  readonly queueBytesMax: number;
  /** Limits of batches in the store, and of their bytes: what one flush carries and the next one collects. */
  readonly storeWritesMax: number;
  readonly storeWriteBytesMax: number;
  /** Limit of reads at the disk. */
  readonly diskReadsMax: number;
  /** Microseconds after which an unanswered read is answered `Timeout`, and an unanswered write is counted as late. */
  readonly timeoutUs: number;
}

/** The limits of a node's driver. */
export const driverDefaults: DriverLimits = {
  queueCountMax: 10_000,
  queueBytesMax: 64 * 1024 * 1024,
  storeWritesMax: 4096,
  storeWriteBytesMax: 32 * 1024 * 1024,
  diskReadsMax: 64,
  timeoutUs: 10_000_000,
};

/** The answer to a read. `withheldBytes`: the size of a value on the disk that is larger than the caller asked for. */
export type ReadDone = (
  error: LockstepError | undefined,
  value: Uint8Array | undefined,
  withheldBytes?: number,
) => void;

/** One accepted request. */
interface Request {
  readonly bytes: number;
  readonly acceptedUs: number;
  /** Undefined once answered. */
  done: ReadDone | undefined;
  /** It has been counted as timed out. */
  isLate: boolean;
  readonly kind: 'read' | 'write';
  readonly key: PackedKey | undefined;
  readonly bytesMax: number;
  /** Of a read: `Store.getDoubted`. */
  readonly doubted: boolean;
  /** Undefined once the store has it. */
  batch: readonly StoreWrite[] | undefined;
}

/** The driver of one store. */
export class StoreDriver {
  readonly #io: StoreIo;
  readonly #store: Store;
  readonly #observer: StoreObserver;
  readonly #limits: DriverLimits;
  readonly #reads: Channel<Request>;
  readonly #writes: Channel<Request>;
  /** Accepted requests in order, without the answered ones at the front: the first has the next deadline. */
  readonly #waiting: (Request | undefined)[] = [];
  #waitingFrom = 0;
  #deadline: Timer | undefined;
  #storeWrites = 0;
  #storeBytes = 0;
  #storeReads = 0;
  #closed = false;
  #late = false;

  constructor(io: StoreIo, store: Store, observer: StoreObserver, limits: DriverLimits) {
    this.#io = io;
    this.#store = store;
    this.#observer = observer;
    this.#limits = limits;
    const channelLimits = { countMax: limits.queueCountMax, bytesMax: limits.queueBytesMax };
    this.#reads = new Channel(channelLimits);
    this.#writes = new Channel(channelLimits);
    store.onFailed(() => observer.ejected());
  }

  /** Requests accepted and not yet passed to the store. */
  get inQueue(): number {
    return this.#reads.length + this.#writes.length;
  }

  /** Bytes of these requests. */
  get inQueueBytes(): number {
    return this.#reads.bytes + this.#writes.bytes;
  }

  /** Requests in the store. */
  get outQueue(): number {
    return this.#storeWrites + this.#storeReads;
  }

  /** Bytes of these requests. */
  get outQueueBytes(): number {
    return this.#storeBytes;
  }

  /**
   * Reads a key; the header says when `done` is called. A value longer than `bytesMax` is not fetched from the disk.
   */
  tryRead(key: PackedKey, done: ReadDone, bytesMax = Infinity): SendOutcome {
    if (this.#closed) return this.#dropped('read', 'closed');
    if (this.#reads.length > 0 || this.#storeReads >= this.#limits.diskReadsMax)
      return this.#queueRead(key, done, bytesMax);
    const acceptedUs = this.#io.clock.nowUs();
    let result: ReturnType<Store['get']> | number;
    try {
      result = this.#store.get(key, bytesMax);
    } catch (error) {
      this.#observer.readRequested(key.length, this.inQueue);
      this.#observer.queueWaited(0, this.outQueue + 1);
      this.#answerRead(asLockstepError(error), undefined, acceptedUs, done);
      return 'ok';
    }
    this.#observer.readRequested(key.length, this.inQueue);
    this.#observer.queueWaited(0, this.outQueue + 1);
    if (result instanceof Promise) {
      const request = readRequest(key, acceptedUs, done, bytesMax);
      this.#expect(request);
      this.#readDisk(request, result);
    } else if (typeof result === 'number') {
      this.#late = false;
      this.#observer.readAnswered(0, this.#io.clock.nowUs() - acceptedUs);
      done(undefined, undefined, result);
    } else {
      this.#answerRead(undefined, result, acceptedUs, done);
    }
    return 'ok';
  }

  /** Reads the newest readable value of a key whose newest one is lost, or may be (`Store.getDoubted`). */
  tryReadDoubted(key: PackedKey, done: ReadDone): SendOutcome {
    if (this.#closed) return this.#dropped('read', 'closed');
    const outcome = this.#queueRead(key, done, Infinity, true);
    this.#feedReads();
    return outcome;
  }

  /** As `Store.keepDoubt`. */
  keepDoubt(key: PackedKey): void {
    this.#store.keepDoubt(key);
  }

  /** As `Store.keepsDoubt`. */
  keepsDoubt(key: PackedKey): boolean {
    return this.#store.keepsDoubt(key);
  }

  /** As `Store.hasNewest`. */
  hasNewest(key: PackedKey): boolean {
    return this.#store.hasNewest(key);
  }

  /** What `tryRead` would answer at once, counted as a read; `elsewhere` if it would answer later or with an error. */
  inMemory(key: PackedKey): Uint8Array | undefined | 'elsewhere' {
    if (this.#closed || this.#reads.length > 0 || this.#storeReads >= this.#limits.diskReadsMax)
      return 'elsewhere';
    const acceptedUs = this.#io.clock.nowUs();
    const value = this.#store.inMemory(key);
    if (value === 'elsewhere') return value;
    this.#late = false;
    this.#observer.readRequested(key.length, this.inQueue);
    this.#observer.queueWaited(0, this.outQueue + 1);
    this.#observer.readAnswered(value?.length ?? 0, this.#io.clock.nowUs() - acceptedUs);
    return value;
  }

  /**
   * Writes a batch, whole or not at all. `done` is called once, later, with the store's answer. The batch must not change
   * until then.
   */
  tryWrite(batch: readonly StoreWrite[], done: WriteDone): SendOutcome {
    if (this.#closed || this.#store.state === 'closed') return this.#dropped('write', 'closed');
    const bytes = batchBytes(batch);
    const request: Request = {
      bytes,
      acceptedUs: this.#io.clock.nowUs(),
      done,
      isLate: false,
      kind: 'write',
      key: undefined,
      bytesMax: 0,
      doubted: false,
      batch,
    };
    if (this.#writes.length > 0 || !this.#writeFits(bytes)) {
      const outcome = this.#writes.trySend(request, bytes);
      if (outcome !== 'ok') return this.#dropped('write', outcome);
      this.#observer.writeRequested(bytes, this.inQueue);
      this.#expect(request);
      return 'ok';
    }
    this.#observer.writeRequested(bytes, this.inQueue);
    this.#expect(request);
    this.#writeStore(request, batch, request.acceptedUs);
    return 'ok';
  }

  /** Refuses further requests; accepted ones are still answered. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#waiting.length === 0) this.#cancelDeadline();
    this.#observer.closed();
  }

  #dropped(kind: 'read' | 'write', outcome: 'full' | 'closed'): SendOutcome {
    sometimes('store.request-refused');
    this.#observer.requestDropped(outcome);
    // Refusals may come in masses: their event is made only if the log takes it.
    if (this.#io.log.enabled('debug')) {
      const { directory } = this.#store;
      this.#io.log.event('debug', 'store.request.refused', { directory, kind, outcome });
    }
    return outcome;
  }

  #queueRead(key: PackedKey, done: ReadDone, bytesMax: number, doubted = false): SendOutcome {
    const request = readRequest(key, this.#io.clock.nowUs(), done, bytesMax, doubted);
    const outcome = this.#reads.trySend(request, key.length);
    if (outcome !== 'ok') return this.#dropped('read', outcome);
    this.#observer.readRequested(key.length, this.inQueue);
    this.#expect(request);
    return 'ok';
  }

  #writeFits(bytes: number): boolean {
    const { storeWritesMax, storeWriteBytesMax } = this.#limits;
    if (this.#storeWrites === 0) return true;
    return this.#storeWrites < storeWritesMax && this.#storeBytes + bytes <= storeWriteBytesMax;
  }

  /** `nowUs`: the monotonic time. */
  #writeStore(request: Request, batch: readonly StoreWrite[], nowUs: number): void {
    this.#observer.queueWaited(nowUs - request.acceptedUs, this.outQueue + 1);
    this.#storeWrites += 1;
    this.#storeBytes += request.bytes;
    request.batch = undefined;
    this.#store.write(batch, (error) => {
      this.#storeWrites -= 1;
      this.#storeBytes -= request.bytes;
      this.#answer(request, error, undefined);
      this.#feedWrites();
    });
  }

  #feedWrites(): void {
    for (;;) {
      if (this.#writes.length === 0 || !this.#writeFits(0)) return;
      const request = this.#writes.tryReceive();
      if (request?.batch === undefined) return;
      this.#writeStore(request, request.batch, this.#io.clock.nowUs());
    }
  }

  #readDisk(request: Request, reading: Promise<Uint8Array | undefined>): void {
    this.#storeReads += 1;
    this.#storeBytes += request.bytes;
    this.#io.spawn('store.read', async () => {
      let error: LockstepError | undefined;
      let value: Uint8Array | undefined;
      try {
        value = await reading;
      } catch (cause) {
        error = asLockstepError(cause);
      }
      this.#storeReads -= 1;
      this.#storeBytes -= request.bytes;
      this.#answer(request, error, value);
      this.#feedReads();
    });
  }

  #feedReads(): void {
    while (this.#reads.length > 0 && this.#storeReads < this.#limits.diskReadsMax) {
      const request = this.#reads.tryReceive();
      if (request?.key === undefined) return;
      if (request.done === undefined) continue;
      this.#observer.queueWaited(this.#io.clock.nowUs() - request.acceptedUs, this.outQueue + 1);
      this.#readQueued(request, request.key);
    }
  }

  #readQueued(request: Request, key: PackedKey): void {
    try {
      const result = request.doubted ? this.#store.getDoubted(key) : this.#store.get(key, request.bytesMax);
      if (result instanceof Promise) this.#readDisk(request, result);
      else if (typeof result === 'number') this.#answer(request, undefined, undefined, result);
      else this.#answer(request, undefined, result);
    } catch (error) {
      this.#answer(request, asLockstepError(error), undefined);
    }
  }

  #answerRead(
    error: LockstepError | undefined,
    value: Uint8Array | undefined,
    acceptedUs: number,
    done: ReadDone,
  ): void {
    this.#late = false;
    if (error !== undefined) this.#observer.operationFailed();
    this.#observer.readAnswered(value?.length ?? 0, this.#io.clock.nowUs() - acceptedUs);
    done(error, value);
  }

  #answer(
    request: Request,
    error: LockstepError | undefined,
    value: Uint8Array | undefined,
    withheldBytes?: number,
  ): void {
    this.#late = false;
    const { done } = request;
    if (done === undefined) return;
    request.done = undefined;
    if (request.isLate) sometimes('store.write-answered-late');
    else this.#countAnswer(request, error, value);
    this.#trimWaiting();
    done(error, value, withheldBytes);
  }

  #countAnswer(request: Request, error: LockstepError | undefined, value: Uint8Array | undefined): void {
    const latencyUs = this.#io.clock.nowUs() - request.acceptedUs;
    if (error !== undefined) this.#observer.operationFailed();
    if (request.kind === 'read') this.#observer.readAnswered(value?.length ?? 0, latencyUs);
    else this.#observer.writeAnswered(0, latencyUs);
  }

  /** Notes the request's deadline. All requests have the same timeout, so the oldest one is always due next. */
  #expect(request: Request): void {
    this.#waiting.push(request);
    if (this.#deadline !== undefined) return;
    this.#deadline = this.#io.clock.after(this.#limits.timeoutUs, () => this.#checkDeadlines());
  }

  /** Drops answered requests from the front. */
  #trimWaiting(): void {
    const waiting = this.#waiting;
    while (this.#waitingFrom < waiting.length && waiting[this.#waitingFrom]?.done === undefined) {
      waiting[this.#waitingFrom] = undefined;
      this.#waitingFrom += 1;
    }
    if (this.#waitingFrom === waiting.length || this.#waitingFrom >= 4096) {
      waiting.splice(0, this.#waitingFrom);
      this.#waitingFrom = 0;
    }
    if (this.#closed && waiting.length === 0) this.#cancelDeadline();
  }

  #cancelDeadline(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }

  #checkDeadlines(): void {
    this.#deadline = undefined;
    const nowUs = this.#io.clock.nowUs();
    for (; this.#waitingFrom < this.#waiting.length; this.#waitingFrom++) {
      const request = this.#waiting[this.#waitingFrom];
      if (request?.done === undefined) continue;
      const leftUs = request.acceptedUs + this.#limits.timeoutUs - nowUs;
      if (leftUs > 0) {
        this.#deadline = this.#io.clock.after(leftUs, () => this.#checkDeadlines());
        break;
      }
      this.#timeOut(request, request.done);
    }
    this.#waiting.splice(0, this.#waitingFrom);
    this.#waitingFrom = 0;
  }

  #timeOut(request: Request, done: ReadDone): void {
    request.isLate = true;
    this.#observer.requestTimedOut();
    if (!this.#late) this.#observer.driverTimedOut();
    this.#late = true;
    if (request.kind === 'write') return;
    request.done = undefined;
    done(new LockstepError('Timeout', 'the store did not answer a read in time'), undefined);
  }
}

function readRequest(
  key: PackedKey,
  acceptedUs: number,
  done: ReadDone,
  bytesMax: number,
  doubted = false,
): Request {
  const kind = 'read';
  return {
    bytes: key.length,
    acceptedUs,
    done,
    isLate: false,
    kind,
    key,
    bytesMax,
    doubted,
    batch: undefined,
  };
}

function batchBytes(batch: readonly StoreWrite[]): number {
  let bytes = 0;
  for (const write of batch) bytes += write.key.length + (write.value?.length ?? 0);
  return bytes;
}
