/**
 * Defines the binary protocol's messages about buckets: their properties, names and keys, and the replicas of a key.
 * The product's one own field of RpbBucketProps has a number far above Riak's. Answers carry it only for buckets that
 * have set it: some clients refuse a message with an unknown field, and others use a number near Riak's for a property
 * of their own.
 *
 * Source: the field tables of Riak's protocol.
 */
/** An Erlang function by module and name. */
export interface RpbModFun {
  readonly module: Uint8Array;
  readonly function: Uint8Array;
}

/** A hook as Riak's clients send it; the product accepts none. */
export interface RpbCommitHook {
  readonly modfun?: RpbModFun | undefined;
  readonly name?: Uint8Array | undefined;
}

/** Bucket properties; a field that is absent is not set by the message. */
export interface RpbBucketProps {
  readonly n_val?: number | undefined;
  readonly allow_mult?: boolean | undefined;
  readonly last_write_wins?: boolean | undefined;
  readonly precommit?: readonly RpbCommitHook[];
  readonly has_precommit?: boolean | undefined;
  readonly postcommit?: readonly RpbCommitHook[];
  readonly has_postcommit?: boolean | undefined;
  readonly chash_keyfun?: RpbModFun | undefined;
  readonly linkfun?: RpbModFun | undefined;
  /** `old_vclock` and `young_vclock` in seconds; `big_vclock` and `small_vclock` in entries. */
  readonly old_vclock?: number | undefined;
  readonly young_vclock?: number | undefined;
  readonly big_vclock?: number | undefined;
  readonly small_vclock?: number | undefined;
  readonly pr?: number | undefined;
  readonly r?: number | undefined;
  readonly w?: number | undefined;
  readonly pw?: number | undefined;
  readonly dw?: number | undefined;
  readonly rw?: number | undefined;
  readonly basic_quorum?: boolean | undefined;
  readonly notfound_ok?: boolean | undefined;
  readonly backend?: Uint8Array | undefined;
  readonly search?: boolean | undefined;
  /** 0: none; other numbers are kinds of replication between clusters. */
  readonly repl?: number | undefined;
  readonly search_index?: Uint8Array | undefined;
  readonly datatype?: Uint8Array | undefined;
  readonly consistent?: boolean | undefined;
  readonly write_once?: boolean | undefined;
  readonly hll_precision?: number | undefined;
  /** Seconds until an object expires, as newer clients of Riak send it. Not supported: refused unless 0. */
  readonly ttl?: number | undefined;
  /** The product's own: the id of the Wasm module by which a CUSTOM bucket routes its keys. */
  readonly keyfun_module?: Uint8Array | undefined;
}

/** Asks for a bucket's properties; also the request to reset them. */
export interface RpbGetBucketReq {
  readonly bucket: Uint8Array;
  readonly type?: Uint8Array | undefined;
}

/** Answers with the properties of a bucket or a type. */
export interface RpbGetBucketResp {
  readonly props: RpbBucketProps;
}

/** Sets some properties of a bucket. */
export interface RpbSetBucketReq extends RpbGetBucketReq {
  readonly props: RpbBucketProps;
}

/** Asks for the properties of a bucket type. */
export interface RpbBucketTypeReq {
  readonly type: Uint8Array;
}

/** Sets some properties of a bucket type. */
export interface RpbSetBucketTypeReq extends RpbBucketTypeReq {
  readonly props: RpbBucketProps;
}

/** Asks for the buckets of a type. */
export interface RpbListBucketsReq {
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly stream?: boolean | undefined;
  readonly type?: Uint8Array | undefined;
}

/** One frame of buckets; `done` marks the last frame of a stream. */
export interface RpbListBucketsResp {
  readonly buckets?: readonly Uint8Array[];
  readonly done?: boolean | undefined;
}

/** Asks for the keys of a bucket. `timeout` in milliseconds. */
export interface RpbListKeysReq {
  readonly bucket: Uint8Array;
  readonly timeout?: number | undefined;
  readonly type?: Uint8Array | undefined;
}

/** One frame of keys; `done` marks the last. */
export interface RpbListKeysResp {
  readonly keys?: readonly Uint8Array[];
  readonly done?: boolean | undefined;
}

/** Asks which nodes hold a key. */
export interface RpbPreflistReq {
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
  readonly type?: Uint8Array | undefined;
}

/** One replica of the key. */
export interface RpbPreflistItem {
  /** The key's token. */
  readonly partition: number;
  readonly node: Uint8Array;
  readonly primary: boolean;
}

/** The replicas of the key, its primary first. */
export interface RpbPreflistResp {
  readonly preflist?: readonly RpbPreflistItem[];
}

/** These messages in the language of Protocol Buffers. */
export const bucketSchemaText = `
message RpbModFun {
  required bytes module = 1;
  required bytes function = 2;
}

message RpbCommitHook {
  optional RpbModFun modfun = 1;
  optional bytes name = 2;
}

message RpbBucketProps {
  optional uint32 n_val = 1;
  optional bool allow_mult = 2;
  optional bool last_write_wins = 3;
  repeated RpbCommitHook precommit = 4;
  optional bool has_precommit = 5;
  repeated RpbCommitHook postcommit = 6;
  optional bool has_postcommit = 7;
  optional RpbModFun chash_keyfun = 8;
  optional RpbModFun linkfun = 9;
  optional uint32 old_vclock = 10;
  optional uint32 young_vclock = 11;
  optional uint32 big_vclock = 12;
  optional uint32 small_vclock = 13;
  optional uint32 pr = 14;
  optional uint32 r = 15;
  optional uint32 w = 16;
  optional uint32 pw = 17;
  optional uint32 dw = 18;
  optional uint32 rw = 19;
  optional bool basic_quorum = 20;
  optional bool notfound_ok = 21;
  optional bytes backend = 22;
  optional bool search = 23;
  optional uint32 repl = 24;
  optional bytes search_index = 25;
  optional bytes datatype = 26;
  optional bool consistent = 27;
  optional bool write_once = 28;
  optional uint32 hll_precision = 29;
  optional uint32 ttl = 30;
  optional bytes keyfun_module = 50001;
}

message RpbGetBucketReq {
  required bytes bucket = 1;
  optional bytes type = 2;
}

message RpbGetBucketResp {
  required RpbBucketProps props = 1;
}

message RpbSetBucketReq {
  required bytes bucket = 1;
  required RpbBucketProps props = 2;
  optional bytes type = 3;
}

message RpbResetBucketReq {
  required bytes bucket = 1;
  optional bytes type = 2;
}

message RpbGetBucketTypeReq {
  required bytes type = 1;
}

message RpbSetBucketTypeReq {
  required bytes type = 1;
  required RpbBucketProps props = 2;
}

message RpbListBucketsReq {
  optional uint32 timeout = 1;
  optional bool stream = 2;
  optional bytes type = 3;
}

message RpbListBucketsResp {
  repeated bytes buckets = 1;
  optional bool done = 2;
}

message RpbListKeysReq {
  required bytes bucket = 1;
  optional uint32 timeout = 2;
  optional bytes type = 3;
}

message RpbListKeysResp {
  repeated bytes keys = 1;
  optional bool done = 2;
}

message RpbGetBucketKeyPreflistReq {
  required bytes bucket = 1;
  required bytes key = 2;
  optional bytes type = 3;
}

message RpbBucketKeyPreflistItem {
  required int64 partition = 1;
  required bytes node = 2;
  required bool primary = 3;
}

message RpbGetBucketKeyPreflistResp {
  repeated RpbBucketKeyPreflistItem preflist = 1;
}
`;
