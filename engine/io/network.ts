/**
 * The network door: connections as TCP gives them.
 *
 * Promised: bytes of one direction arrive in the order written, each once, until the connection ends or breaks.
 * `onEnd` comes after the last byte; `onClose` comes exactly once, last, and after it nothing is delivered.
 * Handlers are never called from within a call of the engine's into the door.
 *
 * Not promised: chunk boundaries (writes may arrive split or joined at any byte); that written bytes arrive at all
 * (a reset or a cut loses what is under way, without a word about how much); that a dead peer is ever noticed (a
 * half-open connection stays silent for ever: use deadlines); that connecting fails quickly.
 */

/** `host:port`. In the world the host is a simulated host's name or address. */
export type Address = string;

/** Why a connection is over. `ended`: both sides finished in order. */
export type CloseReason = 'ended' | 'reset' | 'timedOut' | 'closedHere';

/** Why a connection could not be made. */
export type ConnectFailure = 'refused' | 'timedOut' | 'unreachable';

export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly failure: ConnectFailure;

  constructor(failure: ConnectFailure, address: Address) {
    super(`connecting to ${address}: ${failure}`);
    this.failure = failure;
  }
}

/** Why an address could not be listened on. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

export interface ConnectionHandler {
  /** The next bytes. The handler may keep the view; the door never writes to it again. */
  onData(chunk: Uint8Array): void;
  /** What was written has left far enough that `write` would return true again. */
  onDrain(): void;
  /** The other side will send no more. */
  onEnd(): void;
  /** The connection is over; always the last call. */
  onClose(reason: CloseReason): void;
}

/** Whoever wants to use the memory of written bytes again. */
export interface BytesOwner {
  /**
   * The door has let go of `bytes`, the view that it was given: they have left, were copied or were dropped. Called
   * once for each write that named an owner, perhaps within it, and not after `onClose`: what was not let go until
   * then is let go with it.
   */
  released(bytes: Uint8Array): void;
}

export interface Connection {
  /** The other side's address, for logs. */
  readonly remote: Address;
  /** Bytes accepted by `write` that have not left this host. */
  readonly pendingBytes: number;
  /** Begins delivery. Called once; until then nothing is delivered and nothing is lost. */
  start(handler: ConnectionHandler): void;
  /**
   * Queues bytes; the door keeps the view, so it must not be changed until `owner` hears of its release, and never
   * without an owner. False: enough is pending, wait for `onDrain` (the bytes were accepted all the same). After the
   * connection is over, bytes are dropped in silence.
   */
  write(bytes: Uint8Array, owner?: BytesOwner): boolean;
  /**
   * From now on the connection is cut (`onClose('timedOut')`) once nothing of what is pending has left this host for `us`
   * microseconds, or somewhat later; what trickles out is waited for. Until it is called, what is pending may stand for ever.
   * A host may bound what is pending on all such connections together, and cuts the one with most in the same way.
   */
  setPatience(us: number): void;
  /** Stops and resumes delivery (back-pressure: a paused reader makes the other side's writes pend). */
  pause(): void;
  resume(): void;
  /** No more will be written; what is pending still goes out. */
  end(): void;
  /** Ends the connection now; what is pending may be lost. `onClose('closedHere')` follows. */
  destroy(): void;
}

export interface Listener {
  /** The address listened on (with the real port where 0 was asked for). */
  readonly address: Address;
  /** Accepts no more; existing connections stay. Resolves when the address is free. */
  close(): Promise<void>;
}

export interface Network {
  /** Listens. Rejects with `ListenError` when the address is taken or not this host's. */
  listen(address: Address, onConnection: (connection: Connection) => void): Promise<Listener>;
  /** Connects, or rejects with `ConnectError` after at most about `timeoutUs`. */
  connect(address: Address, timeoutUs: number): Promise<Connection>;
}
