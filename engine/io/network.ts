/**
 * The network port: connections with the guarantees of TCP.
 *
 * Promised: the bytes of one direction arrive in the order written, each once, until the connection ends or breaks.
 * `onEnd` comes after the last byte. `onClose` comes exactly once and last. The port never calls a handler from within
 * a call of the engine into the port.
 *
 * Not promised: chunk boundaries (writes may arrive split or joined at any byte). That written bytes arrive: a reset or
 * a cut loses an unknown amount. That a dead peer is noticed: a half-open connection stays silent for ever, so callers
 * need deadlines. That connecting fails quickly.
 */

/** `host:port`. In the simulated world the host is a simulated host's name or address. */
export type Address = string;

/** Why a connection is over. `ended`: both sides finished in order. `closedHere`: this side called `destroy`. */
export type CloseReason = 'ended' | 'reset' | 'timedOut' | 'closedHere';

/** Why a connection could not be established. */
export type ConnectFailure = 'refused' | 'timedOut' | 'unreachable';

/** Thrown by `connect`. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly failure: ConnectFailure;
  /** Why the other side was reached but no encrypted connection was made, as text for people; otherwise undefined. */
  readonly handshake: string | undefined;

  constructor(failure: ConnectFailure, address: Address, handshake?: string) {
    super(`connecting to ${address}: ${failure}${handshake === undefined ? '' : ` (${handshake})`}`);
    this.failure = failure;
    this.handshake = handshake;
  }
}

/** Thrown by `listen` and `serve`: the address is in use or not this host's. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** The receiver of one connection's events. */
export interface ConnectionHandler {
  /** The next bytes. The handler may keep the view; the port never writes to it again. */
  onData(chunk: Uint8Array): void;
  /** Enough pending bytes have left that `write` would return true again. */
  onDrain(): void;
  /** The other side will send no more bytes. */
  onEnd(): void;
  /** The connection is over; always the last call. */
  onClose(reason: CloseReason): void;
}

/** Lends bytes to `write` and reuses their memory afterwards. */
export interface BytesOwner {
  /**
   * The port no longer uses `bytes`, the view passed to `write`: they have left, were copied or were dropped. Called
   * once for each write with an owner, possibly within that write. Not called after `onClose`, which releases
   * everything still lent.
   */
  released(bytes: Uint8Array): void;
}

/** One established connection. */
export interface Connection {
  /** The other side's address, for logs. */
  readonly remote: Address;
  /** Bytes accepted by `write` that have not left this host. */
  readonly pendingBytes: number;
  /** Begins delivery. Called once; bytes that arrive earlier are kept until then. */
  start(handler: ConnectionHandler): void;
  /**
   * Queues bytes. The port keeps the view: without an owner the caller must never change it, with one not before
   * `released`. Returns false if enough is pending and the caller should wait for `onDrain`; the bytes are accepted all
   * the same. Once the connection is over, the port drops bytes silently.
   */
  write(bytes: Uint8Array, owner?: BytesOwner): boolean;
  /**
   * From now on the port cuts the connection (`onClose('timedOut')`) if no pending byte leaves this host for `us`
   * microseconds or somewhat longer; any progress restarts the time. Without this call, bytes may be pending for ever.
   * A host may also bound the pending bytes of all such connections together, and then cuts the connection with the
   * most.
   */
  setPatience(us: number): void;
  /** Stops delivery (back-pressure: while the reader is paused, the other side's writes become pending). */
  pause(): void;
  /** Resumes delivery. */
  resume(): void;
  /** Declares that no more bytes will be written; pending bytes still go out. */
  end(): void;
  /** Closes the connection now; pending bytes may be lost. `onClose('closedHere')` follows. */
  destroy(): void;
}

/** A listening address. */
export interface Listener {
  /** The address, with the actual port where 0 was requested. */
  readonly address: Address;
  /** Accepts no more connections; existing ones stay. Resolves when the address is free. */
  close(): Promise<void>;
}

/** The network of one host. */
export interface Network {
  /** Listens. Rejects with `ListenError` if the address is in use or not this host's. */
  listen(address: Address, onConnection: (connection: Connection) => void): Promise<Listener>;
  /** Connects. Rejects with `ConnectError`, at the latest about `timeoutUs` microseconds from now. */
  connect(address: Address, timeoutUs: number): Promise<Connection>;
}
