/**
 * Implements the network port's `Connection` over a socket of node:net.
 *
 * Bytes written in one turn of the event loop leave together. `write` only queues; at the end of the turn the
 * connection joins small pieces and hands them to the socket. A frame thus costs a push instead of a stream write and a
 * system call. An owner gets small pieces back at the end of the turn, and large ones when the system has taken them.
 * Node emits no event of a socket within a call on it, with one exception: data already read can follow `destroy`. This
 * class holds that data back.
 *
 * Node does not tell how much of a write over TLS has left: the time of `setPatience` would pass within one large write,
 * although the peer takes bytes. So a TLS socket is handed a part at a time, and the next one when it has left.
 */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { assert } from '../base/assert.ts';
import type { AnswerHolder, UnreadAnswers } from './unread-answers.ts';
import type { Address, BytesOwner, CloseReason, Connection, ConnectionHandler } from '../io/network.ts';

/** Above this many pending bytes `write` returns false. */
const pendingBytesMax = 256 * 1024;
/** Smaller pieces are copied together; larger ones are handed over as they are. */
const joinBytes = 16 * 1024;
/** A TLS socket is handed so many bytes at once, and pieces of at most so many. */
const tlsBytesAtOnce = 256 * 1024;

/** Bytes written and not yet handed to the socket. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly owner: BytesOwner | undefined;
  /** What the owner lent: `bytes`, or the view that they are the last part of. */
  readonly lent: Uint8Array;
}

/** Is called once the system has taken a write's bytes, or with the error that it does not. */
type Left = (error?: Error | null) => void;

/** Flushes connections at the end of the turn of the event loop in which they were written to. */
export class TurnEnd {
  #waiting: RealConnection[] = [];
  readonly #run = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const connection of waiting) connection.flush();
  };

  add(connection: RealConnection): void {
    if (this.#waiting.push(connection) === 1) setImmediate(this.#run);
  }
}

/** The connection of one socket. */
export class RealConnection implements Connection, AnswerHolder {
  readonly remote: Address;
  readonly #socket: Socket;
  readonly #turnEnd: TurnEnd;
  #handler: ConnectionHandler | undefined;
  readonly #isEncrypted: boolean;
  #queue: Piece[] = [];
  #queuedBytes = 0;
  /** A TLS socket has been handed a part of what was queued; the rest follows once that has left. */
  #partLeaving = false;
  #drainOwed = false;
  readonly #payDrainLater = (): void => this.#payDrain();
  #state: 'open' | 'ended' | 'destroyed' | 'closed' = 'open';
  #failure: CloseReason = 'ended';
  /** 0: no patience is set, so pending bytes may wait for ever and do not count as unread answers. */
  #patienceMs = 0;
  readonly #unread: UnreadAnswers | undefined;

  /** `unread`: where pending bytes are counted once `setPatience` has been called. */
  constructor(socket: Socket, remote: Address, turnEnd: TurnEnd, unread?: UnreadAnswers) {
    this.#socket = socket;
    this.#isEncrypted = socket instanceof TLSSocket;
    this.remote = remote;
    this.#turnEnd = turnEnd;
    this.#unread = unread;
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#live()) this.#failure = reasonOf(error);
    });
    socket.on('drain', () => {
      this.#unread?.forget(this);
      this.#payDrain();
    });
    socket.on('close', () => this.#close());
  }

  get pendingBytes(): number {
    return this.#state === 'closed' ? 0 : this.#queuedBytes + this.#socket.writableLength;
  }

  start(handler: ConnectionHandler): void {
    assert(this.#handler === undefined, 'a connection is started once');
    this.#handler = handler;
    if (this.#state === 'closed') {
      setImmediate(() => handler.onClose(this.#failure));
      return;
    }
    this.#socket.on('data', (chunk: Buffer) => {
      if (this.#live()) handler.onData(chunk);
    });
    this.#socket.on('end', () => {
      if (this.#live()) handler.onEnd();
    });
    if (this.#drainOwed) setImmediate(this.#payDrainLater);
    // A TLS socket may have emitted `end` before this handler was attached, and a stream emits it only once.
    if (this.#socket.readableEnded) {
      setImmediate(() => {
        if (this.#live()) handler.onEnd();
      });
    }
  }

  write(bytes: Uint8Array, owner?: BytesOwner): boolean {
    if (this.#state !== 'open') {
      if (this.#state !== 'closed') owner?.released(bytes);
      return true;
    }
    if (this.#queue.length === 0) this.#turnEnd.add(this);
    if (this.#isEncrypted && bytes.length > tlsBytesAtOnce) this.#queueInParts(bytes, owner);
    else this.#queue.push({ bytes, owner, lent: bytes });
    this.#queuedBytes += bytes.length;
    if (this.pendingBytes <= pendingBytesMax) return true;
    this.#drainOwed = true;
    return false;
  }

  setPatience(us: number): void {
    if (!this.#live()) return;
    if (this.#patienceMs === 0) this.#socket.on('timeout', () => this.#lose());
    this.#patienceMs = Math.max(1, Math.ceil(us / 1000));
    this.#expectTaking();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    if (this.#state !== 'open') return;
    this.flush();
    this.#state = 'ended';
    // Otherwise the last part ends it.
    if (!this.#partLeaving) this.#socket.end();
  }

  destroy(): void {
    if (!this.#live()) return;
    // Whatever fits into the system's buffer still leaves, such as a final error message.
    this.#handAll();
    this.#state = 'destroyed';
    this.#failure = 'closedHere';
    this.#socket.destroy();
  }

  /** Hands the queued bytes to the socket. `TurnEnd` calls it. */
  flush(): void {
    if (this.#queue.length === 0 || this.#partLeaving) return;
    if (this.#isEncrypted && this.#queuedBytes > tlsBytesAtOnce) this.#handPart();
    else this.#handAll();
    this.#expectTaking();
    // If the system takes a stream's only write at once, Node neither asks to wait nor emits `drain`.
    if (this.#drainOwed) setImmediate(this.#payDrainLater);
  }

  #handAll(): void {
    const queue = this.#queue;
    const [first] = queue;
    if (first === undefined) return;
    const bytes = this.#queuedBytes;
    this.#queue = [];
    this.#queuedBytes = 0;
    if (queue.length === 1) this.#writeWhole(first);
    else if (bytes <= joinBytes) this.#writeRun(queue, bytes);
    else this.#writeJoined(queue);
  }

  /** Hands the first pieces to the socket, and the next ones once these have left. */
  #handPart(): void {
    let count = 0;
    let bytes = 0;
    for (const piece of this.#queue) {
      if (count > 0 && bytes + piece.bytes.length > tlsBytesAtOnce) break;
      bytes += piece.bytes.length;
      count += 1;
    }
    const part = this.#queue.splice(0, count);
    this.#queuedBytes -= bytes;
    this.#partLeaving = true;
    const [first] = part;
    if (first !== undefined && count === 1) this.#writeWhole(first, this.#onPartLeft);
    else this.#writeRun(part, bytes, this.#onPartLeft);
  }

  readonly #onPartLeft = (error?: Error | null): void => {
    this.#partLeaving = false;
    if ((error !== undefined && error !== null) || !this.#live()) return;
    this.flush();
    if (this.#state === 'ended' && this.#queue.length === 0) this.#socket.end();
  };

  #queueInParts(bytes: Uint8Array, owner: BytesOwner | undefined): void {
    for (let at = 0; at < bytes.length; at += tlsBytesAtOnce) {
      const part = bytes.subarray(at, at + tlsBytesAtOnce);
      const isLast = at + tlsBytesAtOnce >= bytes.length;
      this.#queue.push({ bytes: part, owner: isLast ? owner : undefined, lent: bytes });
    }
  }

  #writeJoined(queue: readonly Piece[]): void {
    this.#socket.cork();
    let run: Piece[] = [];
    let runBytes = 0;
    const endRun = (): void => {
      if (run.length > 0) this.#writeRun(run, runBytes);
      run = [];
      runBytes = 0;
    };
    for (const piece of queue) {
      if (piece.bytes.length >= joinBytes) {
        endRun();
        this.#writeWhole(piece);
      } else {
        run.push(piece);
        runBytes += piece.bytes.length;
        if (runBytes >= joinBytes) endRun();
      }
    }
    endRun();
    this.#socket.uncork();
  }

  /** Joins small pieces by copying. A run of empty pieces writes nothing but is released all the same. */
  #writeRun(run: readonly Piece[], bytes: number, left?: Left): void {
    const joined = Buffer.allocUnsafe(bytes);
    let at = 0;
    for (const piece of run) {
      joined.set(piece.bytes, at);
      at += piece.bytes.length;
    }
    this.#socket.write(joined, left);
    for (const { owner, lent } of run) owner?.released(lent);
  }

  /** Writes a piece without copying; the system reads it in place. */
  #writeWhole({ bytes, owner, lent }: Piece, left?: Left): void {
    if (owner === undefined) this.#socket.write(bytes, left);
    else {
      this.#socket.write(bytes, (error) => {
        if (this.#state !== 'closed') owner.released(lent);
        left?.(error);
      });
    }
  }

  /**
   * Starts the patience time. Node restarts it whenever the system takes bytes, so it runs only while some are pending.
   */
  #expectTaking(): void {
    if (this.#patienceMs === 0 || this.#socket.writableLength === 0) return;
    this.#socket.setTimeout(this.#patienceMs);
    this.#unread?.written(this);
  }

  /** The patience time has passed without progress. */
  #lose(): void {
    if (!this.#live()) return;
    this.#socket.setTimeout(0);
    if (this.pendingBytes > 0) this.cut();
  }

  get unreadBytes(): number {
    return this.pendingBytes;
  }

  cut(): void {
    if (!this.#live()) return;
    this.#state = 'destroyed';
    this.#failure = 'timedOut';
    this.#socket.destroy();
  }

  #live(): boolean {
    return this.#state === 'open' || this.#state === 'ended';
  }

  #payDrain(): void {
    if (!this.#drainOwed || !this.#live() || this.pendingBytes > pendingBytesMax) return;
    if (this.#handler === undefined) return; // `start` reports it.
    this.#drainOwed = false;
    this.#handler.onDrain();
  }

  #close(): void {
    this.#state = 'closed';
    this.#unread?.forget(this);
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#handler?.onClose(this.#failure);
  }
}

function reasonOf(error: NodeJS.ErrnoException): CloseReason {
  return error.code === 'ETIMEDOUT' ? 'timedOut' : 'reset';
}
