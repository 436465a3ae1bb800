/** Defines gets and puts as typed values, by the names of Riak's protocol. An absent field is undefined. */
import type { RpbContent } from './content-messages.ts';

/** Asks for an object. */
export interface RpbGetReq {
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
  readonly r?: number | undefined;
  readonly pr?: number | undefined;
  readonly basic_quorum?: boolean | undefined;
  readonly notfound_ok?: boolean | undefined;
  /** A context: the server answers `unchanged` if the object still has it. */
  readonly if_modified?: Uint8Array | undefined;
  /** Asks for everything except the values. */
  readonly head?: boolean | undefined;
  /** Asks for the context of a deleted object. */
  readonly deletedvclock?: boolean | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly sloppy_quorum?: boolean | undefined;
  readonly n_val?: number | undefined;
  readonly type?: Uint8Array | undefined;
  readonly node_confirms?: number | undefined;
}

/** Answers with all siblings of the object; without contents: not found, or `unchanged`. */
export interface RpbGetResp {
  readonly content?: readonly RpbContent[];
  readonly vclock?: Uint8Array | undefined;
  readonly unchanged?: boolean | undefined;
}

/** Stores a value. */
export interface RpbPutReq {
  readonly bucket: Uint8Array;
  /** Absent: the server makes a key. */
  readonly key?: Uint8Array | undefined;
  readonly vclock?: Uint8Array | undefined;
  readonly content: RpbContent;
  readonly w?: number | undefined;
  readonly dw?: number | undefined;
  readonly return_body?: boolean | undefined;
  readonly pw?: number | undefined;
  readonly if_not_modified?: boolean | undefined;
  readonly if_none_match?: boolean | undefined;
  readonly return_head?: boolean | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly asis?: boolean | undefined;
  readonly sloppy_quorum?: boolean | undefined;
  readonly n_val?: number | undefined;
  readonly type?: Uint8Array | undefined;
  readonly node_confirms?: number | undefined;
}

/** Answers with the stored object if the client asked for it, and with the key that the server made. */
export interface RpbPutResp {
  readonly content?: readonly RpbContent[];
  readonly vclock?: Uint8Array | undefined;
  readonly key?: Uint8Array | undefined;
}
