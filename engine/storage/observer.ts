/**
 * What the driver tells the stats. Every call is one event that has just happened; the stats room counts, node/node.ts ties
 * the two together. Bytes: keys plus values.
 */
export interface StoreObserver {
  /** A read was asked for and accepted; `inQueue` requests wait at the driver now. */
  readRequested(bytes: number, inQueue: number): void;
  /** It was answered, with or without an error, `latencyUs` after it was accepted. Not called after a timeout. */
  readAnswered(bytes: number, latencyUs: number): void;
  writeRequested(bytes: number, inQueue: number): void;
  writeAnswered(bytes: number, latencyUs: number): void;
  /** A request waited this long at the driver before the store took it; `outQueue` requests, it included, are in the store. */
  queueWaited(waitUs: number, outQueue: number): void;
  /** A request was refused, whoever asked: the driver is full, or closed. */
  requestDropped(outcome: 'full' | 'closed'): void;
  /** An operation was answered with an error (a timeout is counted apart). */
  operationFailed(): void;
  /** A request was answered `Timeout`. */
  requestTimedOut(): void;
  /** The driver has stopped answering in time: the first timeout since it last answered. */
  driverTimedOut(): void;
  /** The store went out of service for writes. */
  ejected(): void;
  /** The driver was closed in order. */
  closed(): void;
}

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
