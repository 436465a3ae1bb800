/**
 * The events that the driver reports to metrics. Each call is one event that has just happened; `node/node.ts` connects
 * the two. Byte counts are those of keys plus values.
 */
export interface StoreObserver {
  /** A read was accepted; `inQueue` requests are queued at the driver now. */
  readRequested(bytes: number, inQueue: number): void;
  /** It was answered, with or without an error, `latencyUs` after it was accepted. Not called after `requestTimedOut`. */
  readAnswered(bytes: number, latencyUs: number): void;
  writeRequested(bytes: number, inQueue: number): void;
  writeAnswered(bytes: number, latencyUs: number): void;
  /**
   * A request was queued for `waitUs` before the store took it; `outQueue` requests, including it, are in the store.
   */
  queueWaited(waitUs: number, outQueue: number): void;
  /** A request was refused: the driver is full or closed. */
  requestDropped(outcome: 'full' | 'closed'): void;
  /** An operation was answered with an error. Those that were late are counted by `requestTimedOut` alone. */
  operationFailed(): void;
  /** A read was answered `Timeout`, or the store has not answered a write in time. */
  requestTimedOut(): void;
  /** The driver has stopped answering in time: the first timeout since its last answer. */
  driverTimedOut(): void;
  /** The store went out of service for writes. */
  ejected(): void;
  /** The driver was closed in order. */
  closed(): void;
}

/** Ignores every event. */
export const silentObserver: StoreObserver = {
  readRequested: () => undefined,
  readAnswered: () => undefined,
  writeRequested: () => undefined,
  writeAnswered: () => undefined,
  queueWaited: () => undefined,
  requestDropped: () => undefined,
  operationFailed: () => undefined,
  requestTimedOut: () => undefined,
  driverTimedOut: () => undefined,
  ejected: () => undefined,
  closed: () => undefined,
};
