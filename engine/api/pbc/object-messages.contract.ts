/** Generators of gets and puts of the binary protocol (fast-check), for the tests of their codecs. */
import fc from 'fast-check';
import type { RpbContent, RpbGetReq, RpbPutReq } from './object-messages.ts';

export const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
export const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
export const u32 = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 0xffffffff }));
const flag = fc.boolean();

/** The fields of a content without its lists. */
export const plainFields = {
  value: bytes,
  content_type: maybe(bytes),
  charset: maybe(bytes),
  content_encoding: maybe(bytes),
  vtag: maybe(bytes),
  last_mod: maybe(u32),
  last_mod_usecs: maybe(u32),
  deleted: maybe(flag),
};

export const getReq: fc.Arbitrary<RpbGetReq> = fc.record({
  bucket: bytes,
  key: bytes,
  r: maybe(u32),
  pr: maybe(u32),
  basic_quorum: maybe(flag),
  notfound_ok: maybe(flag),
  if_modified: maybe(bytes),
  head: maybe(flag),
  deletedvclock: maybe(flag),
  timeout: maybe(u32),
  sloppy_quorum: maybe(flag),
  n_val: maybe(u32),
  type: maybe(bytes),
  node_confirms: maybe(u32),
});

export function putReqWith(content: fc.Arbitrary<RpbContent>): fc.Arbitrary<RpbPutReq> {
  return fc.record({
    bucket: bytes,
    key: maybe(bytes),
    vclock: maybe(bytes),
    content,
    w: maybe(u32),
    dw: maybe(u32),
    return_body: maybe(flag),
    pw: maybe(u32),
    if_not_modified: maybe(flag),
    if_none_match: maybe(flag),
    return_head: maybe(flag),
    timeout: maybe(u32),
    asis: maybe(flag),
    sloppy_quorum: maybe(flag),
    n_val: maybe(u32),
    type: maybe(bytes),
    node_confirms: maybe(u32),
  });
}
