/**
 * Declares the binary protocol's messages about buckets: their properties, names and keys, and the replicas of a key.
 * The product's one own field of RpbBucketProps has a number far above Riak's. Answers carry it only for buckets that
 * have set it: some clients refuse a message with an unknown field, and others use a number near Riak's for a property
 * of their own.
 *
 * Source: the field tables of Riak's protocol.
 */
import type { MessageOf } from './message-table.ts';
import { message, optional, repeated, required } from './message-table.ts';

/** An Erlang function by module and name. */
export const RpbModFun = message('RpbModFun', {
  module: required.bytes(1),
  function: required.bytes(2),
});
export type RpbModFun = MessageOf<typeof RpbModFun>;

/** A hook as Riak's clients send it; the product accepts none. */
export const RpbCommitHook = message('RpbCommitHook', {
  modfun: optional.message(RpbModFun, 1),
  name: optional.bytes(2),
});
export type RpbCommitHook = MessageOf<typeof RpbCommitHook>;

/** Bucket properties; a field that is absent is not set by the message. */
export const RpbBucketProps = message('RpbBucketProps', {
  n_val: optional.uint32(1),
  allow_mult: optional.bool(2),
  last_write_wins: optional.bool(3),
  precommit: repeated.message(RpbCommitHook, 4),
  has_precommit: optional.bool(5),
  postcommit: repeated.message(RpbCommitHook, 6),
  has_postcommit: optional.bool(7),
  chash_keyfun: optional.message(RpbModFun, 8),
  linkfun: optional.message(RpbModFun, 9),
  /** `old_vclock` and `young_vclock` in seconds; `big_vclock` and `small_vclock` in entries. */
  old_vclock: optional.uint32(10),
  young_vclock: optional.uint32(11),
  big_vclock: optional.uint32(12),
  small_vclock: optional.uint32(13),
  pr: optional.uint32(14),
  r: optional.uint32(15),
  w: optional.uint32(16),
  pw: optional.uint32(17),
  dw: optional.uint32(18),
  rw: optional.uint32(19),
  basic_quorum: optional.bool(20),
  notfound_ok: optional.bool(21),
  backend: optional.bytes(22),
  search: optional.bool(23),
  /** 0: none; other numbers are kinds of replication between clusters. */
  repl: optional.uint32(24),
  search_index: optional.bytes(25),
  datatype: optional.bytes(26),
  consistent: optional.bool(27),
  write_once: optional.bool(28),
  hll_precision: optional.uint32(29),
  /** Seconds until an object expires, as newer clients of Riak send it. Not supported: refused unless 0. */
  ttl: optional.uint32(30),
  /** The product's own: the id of the Wasm module by which a CUSTOM bucket routes its keys. */
  keyfun_module: optional.bytes(50001),
});
export type RpbBucketProps = MessageOf<typeof RpbBucketProps>;

/** Asks for a bucket's properties; also the request to reset them. */
export const RpbGetBucketReq = message('RpbGetBucketReq', {
  bucket: required.bytes(1),
  type: optional.bytes(2),
});
export type RpbGetBucketReq = MessageOf<typeof RpbGetBucketReq>;

/** Answers with the properties of a bucket or a type. */
export const RpbGetBucketResp = message('RpbGetBucketResp', {
  props: required.message(RpbBucketProps, 1),
});
export type RpbGetBucketResp = MessageOf<typeof RpbGetBucketResp>;

/** Sets some properties of a bucket. */
export const RpbSetBucketReq = message('RpbSetBucketReq', {
  bucket: required.bytes(1),
  props: required.message(RpbBucketProps, 2),
  type: optional.bytes(3),
});
export type RpbSetBucketReq = MessageOf<typeof RpbSetBucketReq>;

/** Asks for the properties of a bucket type. */
export const RpbBucketTypeReq = message('RpbGetBucketTypeReq', {
  type: required.bytes(1),
});
export type RpbBucketTypeReq = MessageOf<typeof RpbBucketTypeReq>;

/** Sets some properties of a bucket type. */
export const RpbSetBucketTypeReq = message('RpbSetBucketTypeReq', {
  type: required.bytes(1),
  props: required.message(RpbBucketProps, 2),
});
export type RpbSetBucketTypeReq = MessageOf<typeof RpbSetBucketTypeReq>;

/** Asks for the buckets of a type. */
export const RpbListBucketsReq = message('RpbListBucketsReq', {
  /** Milliseconds. */
  timeout: optional.uint32(1),
  stream: optional.bool(2),
  type: optional.bytes(3),
});
export type RpbListBucketsReq = MessageOf<typeof RpbListBucketsReq>;

/** One frame of buckets; `done` marks the last frame of a stream. */
export const RpbListBucketsResp = message('RpbListBucketsResp', {
  buckets: repeated.bytes(1),
  done: optional.bool(2),
});
export type RpbListBucketsResp = MessageOf<typeof RpbListBucketsResp>;

/** Asks for the keys of a bucket. `timeout` in milliseconds. */
export const RpbListKeysReq = message('RpbListKeysReq', {
  bucket: required.bytes(1),
  timeout: optional.uint32(2),
  type: optional.bytes(3),
});
export type RpbListKeysReq = MessageOf<typeof RpbListKeysReq>;

/** One frame of keys; `done` marks the last. */
export const RpbListKeysResp = message('RpbListKeysResp', {
  keys: repeated.bytes(1),
  done: optional.bool(2),
});
export type RpbListKeysResp = MessageOf<typeof RpbListKeysResp>;

/** Asks which nodes hold a key. */
export const RpbPreflistReq = message('RpbGetBucketKeyPreflistReq', {
  bucket: required.bytes(1),
  key: required.bytes(2),
  type: optional.bytes(3),
});
export type RpbPreflistReq = MessageOf<typeof RpbPreflistReq>;

/** One replica of the key. */
export const RpbPreflistItem = message('RpbBucketKeyPreflistItem', {
  /** The key's token. */
  partition: required.int64(1),
  node: required.bytes(2),
  primary: required.bool(3),
});
export type RpbPreflistItem = MessageOf<typeof RpbPreflistItem>;

/** The replicas of the key, its primary first. */
export const RpbPreflistResp = message('RpbGetBucketKeyPreflistResp', {
  preflist: repeated.message(RpbPreflistItem, 1),
});
export type RpbPreflistResp = MessageOf<typeof RpbPreflistResp>;
