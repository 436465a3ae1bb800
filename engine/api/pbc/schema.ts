/**
 * Defines the binary protocol's messages as typed values: fields, code on the wire, and codec.
 *
 * A decoded message has `undefined` for an absent optional field, never a type's default. Its `bytes` fields are views
 * of the frame: the caller must copy what outlives the request. Unknown fields are skipped, as Protocol Buffers
 * requires. Encoding trusts the static types and copies every bytes field once, straight into the frame.
 */
import { LockstepError } from '../../base/errors.ts';
import {
  RpbBucketTypeReq,
  RpbGetBucketReq,
  RpbGetBucketResp,
  RpbListBucketsReq,
  RpbListBucketsResp,
  RpbListKeysReq,
  RpbListKeysResp,
  RpbPreflistReq,
  RpbPreflistResp,
  RpbSetBucketReq,
  RpbSetBucketTypeReq,
} from './bucket-messages.ts';
import { beginFrame, finishFrame } from './frames.ts';
import type { Fields, Message, MessageOf } from './message-table.ts';
import { message, optional, required } from './message-table.ts';
import { RpbDelReq, RpbGetReq, RpbGetResp, RpbPutReq, RpbPutResp } from './object-messages.ts';
import {
  decodeGetReq,
  decodeGetResp,
  decodePutReq,
  encodeGetReq,
  encodeGetResp,
  encodePutReq,
  encodePutResp,
} from './object-codec.ts';
import {
  decodeTransactionReq,
  decodeTransactionResp,
  encodeTransactionReq,
  encodeTransactionResp,
} from './transaction-codec.ts';
import {
  LockTransactionGetReq,
  LockTransactionListResp,
  LockTransactionReq,
  LockTransactionResolveReq,
  LockTransactionResp,
} from './transaction-messages.ts';

/** An error answer; `error-numbers.ts` explains `errcode`. */
export const RpbErrorResp = message('RpbErrorResp', {
  errmsg: required.bytes(1),
  errcode: required.uint32(2),
});
export type RpbErrorResp = MessageOf<typeof RpbErrorResp>;

/** The id that a client gives itself. */
export const RpbClientId = message('RpbGetClientIdResp', {
  client_id: required.bytes(1),
});
export type RpbClientId = MessageOf<typeof RpbClientId>;

/** A client's name and password. */
export const RpbAuthReq = message('RpbAuthReq', {
  user: required.bytes(1),
  password: required.bytes(2),
});
export type RpbAuthReq = MessageOf<typeof RpbAuthReq>;

/** The node's name and version. */
export const RpbGetServerInfoResp = message('RpbGetServerInfoResp', {
  node: optional.bytes(1),
  server_version: optional.bytes(2),
});
export type RpbGetServerInfoResp = MessageOf<typeof RpbGetServerInfoResp>;

/** Asks for a job; `request` holds the job in the form of `content_type`. */
export const RpbMapRedReq = message('RpbMapRedReq', {
  request: required.bytes(1),
  content_type: required.bytes(2),
});
export type RpbMapRedReq = MessageOf<typeof RpbMapRedReq>;

/** One frame of a job's results. */
export const RpbMapRedResp = message('RpbMapRedResp', {
  /** Counted from 0. */
  phase: optional.uint32(1),
  /** A JSON array of results. */
  response: optional.bytes(2),
  /** Set in the last frame, which holds nothing else. */
  done: optional.bool(3),
});
export type RpbMapRedResp = MessageOf<typeof RpbMapRedResp>;

/** A message without fields. */
export type Empty = Readonly<Record<string, never>>;

/** Numbers that stand for words in the quorum fields. */
export const quorumNames = {
  one: 0xfffffffe,
  quorum: 0xfffffffd,
  all: 0xfffffffc,
  default: 0xfffffffb,
  /** The product's own, and only as `r`: the key's primary alone. */
  primary: 0xfffffffa,
} as const;

/** One kind of message: its code and its codec. */
export interface MessageKind<T> {
  readonly code: number;
  readonly name: string;
  /** Its fields, and those of the messages in them; undefined for a message without fields. */
  readonly codec: Declared['codec'] | undefined;
  /** The whole frame, ready to be written. */
  encode(message: T): Buffer;
  /** Throws `BadRequest` that names the message and what is wrong with it. */
  decode(body: Buffer): T;
}

/** The message kinds, by the names of Riak's protocol without their prefix. Codes 210 to 217 are the product's own. */
export const messages = {
  errorResp: kindOf(0, 'RpbErrorResp', RpbErrorResp),
  pingReq: emptyKind(1, 'RpbPingReq'),
  pingResp: emptyKind(2, 'RpbPingResp'),
  getClientIdReq: emptyKind(3, 'RpbGetClientIdReq'),
  getClientIdResp: kindOf(4, 'RpbGetClientIdResp', RpbClientId),
  setClientIdReq: kindOf(5, 'RpbSetClientIdReq', RpbClientId),
  setClientIdResp: emptyKind(6, 'RpbSetClientIdResp'),
  getServerInfoReq: emptyKind(7, 'RpbGetServerInfoReq'),
  getServerInfoResp: kindOf(8, 'RpbGetServerInfoResp', RpbGetServerInfoResp),
  getReq: byHand(9, 'RpbGetReq', RpbGetReq, { encode: encodeGetReq, decode: decodeGetReq }),
  getResp: byHand(10, 'RpbGetResp', RpbGetResp, { encode: encodeGetResp, decode: decodeGetResp }),
  putReq: byHand(11, 'RpbPutReq', RpbPutReq, { encode: encodePutReq, decode: decodePutReq }),
  putResp: byHand(12, 'RpbPutResp', RpbPutResp, { encode: encodePutResp }),
  delReq: kindOf(13, 'RpbDelReq', RpbDelReq),
  delResp: emptyKind(14, 'RpbDelResp'),
  listBucketsReq: kindOf(15, 'RpbListBucketsReq', RpbListBucketsReq),
  listBucketsResp: kindOf(16, 'RpbListBucketsResp', RpbListBucketsResp),
  listKeysReq: kindOf(17, 'RpbListKeysReq', RpbListKeysReq),
  listKeysResp: kindOf(18, 'RpbListKeysResp', RpbListKeysResp),
  getBucketReq: kindOf(19, 'RpbGetBucketReq', RpbGetBucketReq),
  getBucketResp: kindOf(20, 'RpbGetBucketResp', RpbGetBucketResp),
  setBucketReq: kindOf(21, 'RpbSetBucketReq', RpbSetBucketReq),
  setBucketResp: emptyKind(22, 'RpbSetBucketResp'),
  mapRedReq: kindOf(23, 'RpbMapRedReq', RpbMapRedReq),
  mapRedResp: kindOf(24, 'RpbMapRedResp', RpbMapRedResp),
  resetBucketReq: kindOf(29, 'RpbResetBucketReq', RpbGetBucketReq),
  resetBucketResp: emptyKind(30, 'RpbResetBucketResp'),
  getBucketTypeReq: kindOf(31, 'RpbGetBucketTypeReq', RpbBucketTypeReq),
  setBucketTypeReq: kindOf(32, 'RpbSetBucketTypeReq', RpbSetBucketTypeReq),
  preflistReq: kindOf(33, 'RpbGetBucketKeyPreflistReq', RpbPreflistReq),
  preflistResp: kindOf(34, 'RpbGetBucketKeyPreflistResp', RpbPreflistResp),
  transactionReq: byHand(210, 'LockTransactionReq', LockTransactionReq, {
    encode: encodeTransactionReq,
    decode: decodeTransactionReq,
  }),
  transactionResp: byHand(211, 'LockTransactionResp', LockTransactionResp, {
    encode: encodeTransactionResp,
    decode: decodeTransactionResp,
  }),
  transactionGetReq: kindOf(212, 'LockTransactionGetReq', LockTransactionGetReq),
  transactionGetResp: kindOf(213, 'LockTransactionResp', LockTransactionResp),
  transactionListReq: emptyKind(214, 'LockTransactionListReq'),
  transactionListResp: kindOf(215, 'LockTransactionListResp', LockTransactionListResp),
  transactionResolveReq: kindOf(216, 'LockTransactionResolveReq', LockTransactionResolveReq),
  transactionResolveResp: kindOf(217, 'LockTransactionResp', LockTransactionResp),
  authReq: kindOf(253, 'RpbAuthReq', RpbAuthReq),
  authResp: emptyKind(254, 'RpbAuthResp'),
  startTlsReq: emptyKind(255, 'RpbStartTls'),
} as const;

type Declared = Message<Fields>;

function kindOf<M extends Declared>(code: number, name: string, { codec }: M): MessageKind<MessageOf<M>> {
  return {
    code,
    name,
    codec,
    encode: (message) => finishFrame(codec.encode(message, beginFrame()), code),
    decode: (body) => {
      try {
        // The codec and the type follow from one table.
        return codec.decode(body) as object as MessageOf<M>;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new LockstepError('BadRequest', `${name} does not decode: ${reason}`, { cause: error });
      }
    },
  };
}

/** A hand-written codec for the usual forms of a message; it returns undefined for other forms. */
interface HandCodec<T> {
  encode(message: T, code: number): Buffer | undefined;
  decode?(body: Buffer): T | undefined;
}

/** A kind of message with a hand-written codec, for those that most requests consist of. */
function byHand<M extends Declared>(
  code: number,
  name: string,
  declared: M,
  hand: HandCodec<MessageOf<M>>,
): MessageKind<MessageOf<M>> {
  const kind = kindOf(code, name, declared);
  return {
    code,
    name,
    codec: declared.codec,
    encode: (message) => hand.encode(message, code) ?? kind.encode(message),
    decode: (body) => hand.decode?.(body) ?? kind.decode(body),
  };
}

/** A message with an empty body; the decoder ignores any content. */
function emptyKind(code: number, name: string): MessageKind<Empty> {
  const encode = (): Buffer => finishFrame(beginFrame(), code);
  return { code, name, codec: undefined, encode, decode: () => ({}) };
}
