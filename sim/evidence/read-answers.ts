/** Answers of replicas to coordinators' reads, as they passed on the wire. */

/** A peer's answer to a read of a key, as the coordinator received it. */
export interface ReadAnswer {
  /** `bucket/key`. */
  readonly key: string;
  readonly node: string;
  readonly peer: string;
  readonly askedUs: number;
  readonly heardUs: number;
}
