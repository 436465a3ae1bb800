/** The binary protocol's messages of MapReduce (spec: facts 7.2). */

export interface RpbMapRedReq {
  readonly request: Uint8Array;
  readonly content_type: Uint8Array;
}

export interface RpbMapRedResp {
  /** From 0. */
  readonly phase?: number | undefined;
  /** A JSON array of results. */
  readonly response?: Uint8Array | undefined;
  /** Of the last frame, which holds nothing else. */
  readonly done?: boolean | undefined;
}

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
