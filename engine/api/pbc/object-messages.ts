/** Declares the messages about objects: values and their metadata, gets, puts and deletions. */
import type { MessageOf } from './message-table.ts';
import { message, optional, repeated, required } from './message-table.ts';

/** A name and its value: an entry of user metadata or of a secondary index. */
export const RpbPair = message('RpbPair', {
  key: required.bytes(1),
  value: optional.bytes(2),
});
export type RpbPair = MessageOf<typeof RpbPair>;

/** A link to an object of the default type. */
export const RpbLink = message('RpbLink', {
  bucket: optional.bytes(1),
  key: optional.bytes(2),
  tag: optional.bytes(3),
});
export type RpbLink = MessageOf<typeof RpbLink>;

/** A value and its metadata: one sibling of an object. */
export const RpbContent = message('RpbContent', {
  value: required.bytes(1),
  content_type: optional.bytes(2),
  charset: optional.bytes(3),
  content_encoding: optional.bytes(4),
  vtag: optional.bytes(5),
  links: repeated.message(RpbLink, 6),
  /** Seconds since the epoch; below, the microseconds within that second. */
  last_mod: optional.uint32(7),
  last_mod_usecs: optional.uint32(8),
  usermeta: repeated.message(RpbPair, 9),
  indexes: repeated.message(RpbPair, 10),
  deleted: optional.bool(11),
});
export type RpbContent = MessageOf<typeof RpbContent>;

/** Asks for an object. */
export const RpbGetReq = message('RpbGetReq', {
  bucket: required.bytes(1),
  key: required.bytes(2),
  r: optional.uint32(3),
  pr: optional.uint32(4),
  basic_quorum: optional.bool(5),
  notfound_ok: optional.bool(6),
  /** A context: the server answers `unchanged` if the object still has it. */
  if_modified: optional.bytes(7),
  /** Asks for everything except the values. */
  head: optional.bool(8),
  /** Asks for the context of a deleted object. */
  deletedvclock: optional.bool(9),
  /** Milliseconds. */
  timeout: optional.uint32(10),
  sloppy_quorum: optional.bool(11),
  n_val: optional.uint32(12),
  type: optional.bytes(13),
  node_confirms: optional.uint32(14),
});
export type RpbGetReq = MessageOf<typeof RpbGetReq>;

/** Answers with all siblings of the object; without contents: not found, or `unchanged`. */
export const RpbGetResp = message('RpbGetResp', {
  content: repeated.message(RpbContent, 1),
  vclock: optional.bytes(2),
  unchanged: optional.bool(3),
});
export type RpbGetResp = MessageOf<typeof RpbGetResp>;

/** Stores a value. */
export const RpbPutReq = message('RpbPutReq', {
  bucket: required.bytes(1),
  /** Absent: the server makes a key. */
  key: optional.bytes(2),
  vclock: optional.bytes(3),
  content: required.message(RpbContent, 4),
  w: optional.uint32(5),
  dw: optional.uint32(6),
  return_body: optional.bool(7),
  pw: optional.uint32(8),
  if_not_modified: optional.bool(9),
  if_none_match: optional.bool(10),
  return_head: optional.bool(11),
  /** Milliseconds. */
  timeout: optional.uint32(12),
  asis: optional.bool(13),
  sloppy_quorum: optional.bool(14),
  n_val: optional.uint32(15),
  type: optional.bytes(16),
  node_confirms: optional.uint32(17),
});
export type RpbPutReq = MessageOf<typeof RpbPutReq>;

/** Answers with the stored object if the client asked for it, and with the key that the server made. */
export const RpbPutResp = message('RpbPutResp', {
  content: repeated.message(RpbContent, 1),
  vclock: optional.bytes(2),
  key: optional.bytes(3),
});
export type RpbPutResp = MessageOf<typeof RpbPutResp>;

/** Deletes an object. */
export const RpbDelReq = message('RpbDelReq', {
  bucket: required.bytes(1),
  key: required.bytes(2),
  rw: optional.uint32(3),
  vclock: optional.bytes(4),
  r: optional.uint32(5),
  w: optional.uint32(6),
  pr: optional.uint32(7),
  pw: optional.uint32(8),
  dw: optional.uint32(9),
  /** Milliseconds. */
  timeout: optional.uint32(10),
  sloppy_quorum: optional.bool(11),
  n_val: optional.uint32(12),
  type: optional.bytes(13),
});
export type RpbDelReq = MessageOf<typeof RpbDelReq>;
