/** What a client that stopped reading for a while saw (the fault `slow-reader`), for the checks. Plain data. */
export interface SlowReading {
  readonly node: string;
  readonly atUs: number;
  /**
   * Bytes of all requests (`askedBytes`), and how many of them had left the client when it began to read
   * (`takenBytes`).
   */
  readonly askedBytes: number;
  readonly takenBytes: number;
  readonly asked: number;
  /** Replies that came in the order of the requests. Undefined if the connection ended first or time ran out. */
  readonly answered: number | undefined;
}
