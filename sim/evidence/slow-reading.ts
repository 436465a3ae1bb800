/** What a client that read nothing for a while saw (`slow-reader`), as the checks read it. Plain data. */
export interface SlowReading {
  readonly node: string;
  readonly atUs: number;
  /** Bytes of the requests, and how many of them had left the client when it began to read. */
  readonly askedBytes: number;
  readonly takenBytes: number;
  readonly asked: number;
  /** Replies that came, as they were asked for; undefined: the connection ended before, or time was up. */
  readonly answered: number | undefined;
}
