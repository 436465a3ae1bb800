/** Defines the binary protocol's messages of MapReduce, by the names of Riak's protocol. */

/** Asks for a job; `request` holds the job in the form of `content_type`. */
export interface RpbMapRedReq {
  readonly request: Uint8Array;
  readonly content_type: Uint8Array;
}

/** One frame of a job's results. */
export interface RpbMapRedResp {
  /** Counted from 0. */
  readonly phase?: number | undefined;
  /** A JSON array of results. */
  readonly response?: Uint8Array | undefined;
  /** Set in the last frame, which holds nothing else. */
  readonly done?: boolean | undefined;
}

/** These messages in the language of Protocol Buffers. */
export const mapReduceSchemaText = `
message RpbMapRedReq {
  required bytes request = 1;
  required bytes content_type = 2;
}

message RpbMapRedResp {
  optional uint32 phase = 1;
  optional bytes response = 2;
  optional bool done = 3;
}
`;
