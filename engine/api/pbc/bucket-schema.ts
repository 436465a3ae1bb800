/**
 * The binary protocol's messages about buckets: their properties, their names, their keys and where those live (spec:
 * facts 7.2). The product's one own field of RpbBucketProps has a number far above Riak's, and answers carry it only
 * where a bucket has set it: some clients refuse a message with a field that they do not know, and others take a number
 * near Riak's for a property of their own.
 */
export interface RpbModFun {
  readonly module: Uint8Array;
  readonly function: Uint8Array;
}

export interface RpbCommitHook {
  readonly modfun?: RpbModFun | undefined;
  readonly name?: Uint8Array | undefined;
}

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
  /** Seconds, seconds, entries, entries. */
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
  /** 0: none; the others are kinds of replication between clusters. */
  readonly repl?: number | undefined;
  readonly search_index?: Uint8Array | undefined;
  readonly datatype?: Uint8Array | undefined;
  readonly consistent?: boolean | undefined;
  readonly write_once?: boolean | undefined;
  readonly hll_precision?: number | undefined;
  /** Seconds until an object expires, as later clients of Riak write it: not offered, refused unless 0. */
  readonly ttl?: number | undefined;
  /** Ours: the id of the Wasm module by which a CUSTOM bucket routes its keys. */
  readonly keyfun_module?: Uint8Array | undefined;
}

export interface RpbGetBucketReq {
  readonly bucket: Uint8Array;
  readonly type?: Uint8Array | undefined;
}

export interface RpbGetBucketResp {
  readonly props: RpbBucketProps;
}

export interface RpbSetBucketReq extends RpbGetBucketReq {
  readonly props: RpbBucketProps;
}

export interface RpbBucketTypeReq {
  readonly type: Uint8Array;
}

export interface RpbSetBucketTypeReq extends RpbBucketTypeReq {
  readonly props: RpbBucketProps;
}

export interface RpbListBucketsReq {
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly stream?: boolean | undefined;
  readonly type?: Uint8Array | undefined;
}

export interface RpbListBucketsResp {
  readonly buckets?: readonly Uint8Array[];
  readonly done?: boolean | undefined;
}

export interface RpbListKeysReq {
  readonly bucket: Uint8Array;
  readonly timeout?: number | undefined;
  readonly type?: Uint8Array | undefined;
}

export interface RpbListKeysResp {
  readonly keys?: readonly Uint8Array[];
  readonly done?: boolean | undefined;
}

export interface RpbPreflistReq {
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
  readonly type?: Uint8Array | undefined;
}

export interface RpbPreflistItem {
  /** The key's token. */
  readonly partition: number;
  readonly node: Uint8Array;
  readonly primary: boolean;
}

export interface RpbPreflistResp {
  readonly preflist?: readonly RpbPreflistItem[];
}

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
