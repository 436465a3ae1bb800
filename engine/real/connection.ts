/**
 * A connection of the machine: node:net's socket with the manners of the network door.
 *
 * What is written in one turn of the event loop leaves together: `write` only queues, and the turn's end joins small
 * pieces and hands them over at once (a frame costs a push here, against a stream write and a system call). So an
 * owner of small pieces has them back at the turn's end, one of large ones when the system has taken them. Node emits
 * none of a socket's events within a call on it, except that data already read can follow `destroy`, which is held
 * back here.
 */
import type { Socket } from 'node:net';
import { assert } from '../base/assert.ts';
import type { AnswerHolder, UnreadAnswers } from './unread-answers.ts';
import type { Address, BytesOwner, CloseReason, Connection, ConnectionHandler } from '../io/network.ts';

/** More than this pending: the writer is asked to wait. */
const pendingBytesMax = 256 * 1024;
/** Pieces smaller than this are copied together, larger ones are handed over as they are. */
const joinBytes = 16 * 1024;

/** What was written and has not been handed over. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly owner: BytesOwner | undefined;
}

/** Calls connections back once, when the turn in which they asked is over. */
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

export class RealConnection implements Connection, AnswerHolder {
  readonly remote: Address;
  readonly #socket: Socket;
  readonly #turnEnd: TurnEnd;
  #handler: ConnectionHandler | undefined;
  #queue: Piece[] = [];
  #queuedBytes = 0;
  #drainOwed = false;
  readonly #payDrainLater = (): void => this.#payDrain();
  #state: 'open' | 'ended' | 'destroyed' | 'closed' = 'open';
  #failure: CloseReason = 'ended';
  /** 0: what is pending may stand for ever, and is nobody's answer. */
  #patienceMs = 0;
  readonly #unread: UnreadAnswers | undefined;

  /** `unread`: where what is pending counts once there is patience with it. */
  constructor(socket: Socket, remote: Address, turnEnd: TurnEnd, unread?: UnreadAnswers) {
    this.#socket = socket;
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
    // TLS tells of an end that nobody has waited for; once is all that a stream does.
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
    if (this.#queue.push({ bytes, owner }) === 1) this.#turnEnd.add(this);
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
    this.#socket.end();
  }

  destroy(): void {
    if (!this.#live()) return;
    // What fits into the system's buffer still leaves: a last word before the door is shut.
    this.flush();
    this.#state = 'destroyed';
    this.#failure = 'closedHere';
    this.#socket.destroy();
  }

  /** Hands over what was written since the last time. The network's `TurnEnd` calls it. */
  flush(): void {
    const queue = this.#queue;
    const [first] = queue;
    if (first === undefined) return;
    const bytes = this.#queuedBytes;
    this.#queue = [];
    this.#queuedBytes = 0;
    if (queue.length === 1) this.#writeWhole(first);
    else if (bytes <= joinBytes) this.#writeRun(queue, bytes);
    else this.#writeJoined(queue);
    this.#expectTaking();
    // A stream whose only write the system took at once asks for no patience, and tells of no end to it.
    if (this.#drainOwed) setImmediate(this.#payDrainLater);
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

  /** Small pieces, joined by copying them. A run of empty ones writes nothing and is released all the same. */
  #writeRun(run: readonly Piece[], bytes: number): void {
    const joined = Buffer.allocUnsafe(bytes);
    let at = 0;
    for (const piece of run) {
      joined.set(piece.bytes, at);
      at += piece.bytes.length;
    }
    this.#socket.write(joined);
    for (const piece of run) piece.owner?.released(piece.bytes);
  }

  /** A piece as it is: the system reads it where it lies. */
  #writeWhole({ bytes, owner }: Piece): void {
    if (owner === undefined) this.#socket.write(bytes);
    else {
      this.#socket.write(bytes, () => {
        if (this.#state !== 'closed') owner.released(bytes);
      });
    }
  }

  /** Node starts the time again with whatever the system takes, so it is set only while something is left to be taken. */
  #expectTaking(): void {
    if (this.#patienceMs === 0 || this.#socket.writableLength === 0) return;
    this.#socket.setTimeout(this.#patienceMs);
    this.#unread?.written(this);
  }

  /** The socket's time is over. */
  #lose(): void {
    if (!this.#live()) return;
    this.#socket.setTimeout(0);
    if (this.pendingBytes > 0) this.cut();
  }

  get unreadBytes(): number {
    return this.#socket.writableLength;
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
    if (this.#handler === undefined) return; // Told when it starts.
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
