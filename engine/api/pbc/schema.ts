/**
 * Defines the binary protocol's messages as typed values: fields, code on the wire, and codec.
 *
 * A decoded message has `undefined` for an absent optional field, never a type's default. Its `bytes` fields are views
 * of the frame: the caller must copy what outlives the request. Unknown fields are skipped, as Protocol Buffers
 * requires. Encoding trusts the static types and copies every bytes field once, straight into the frame.
 */
import protobuf from 'protobufjs';
import type { Type } from 'protobufjs';
import { LockstepError } from '../../base/errors.ts';
import type {
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
} from './bucket-schema.ts';
import { bucketSchemaText } from './bucket-schema.ts';
import type { RpbMapRedReq, RpbMapRedResp } from './map-reduce-schema.ts';
import { mapReduceSchemaText } from './map-reduce-schema.ts';
import { beginFrame, finishFrame } from './frames.ts';
import type { RpbGetReq, RpbGetResp, RpbPutReq, RpbPutResp } from './object-messages.ts';
import {
  decodeGetReq,
  decodeGetResp,
  decodePutReq,
  encodeGetReq,
  encodeGetResp,
  encodePutReq,
  encodePutResp,
} from './object-codec.ts';
import { schemaText } from './schema-text.ts';
import {
  decodeTransactionReq,
  decodeTransactionResp,
  encodeTransactionReq,
  encodeTransactionResp,
} from './transaction-codec.ts';
import type {
  LockTransactionGetReq,
  LockTransactionListResp,
  LockTransactionReq,
  LockTransactionResolveReq,
  LockTransactionResp,
} from './transaction-schema.ts';
import { transactionSchemaText } from './transaction-schema.ts';

export type { RpbContent, RpbLink, RpbPair } from './content-messages.ts';
export type { RpbGetReq, RpbGetResp, RpbPutReq, RpbPutResp } from './object-messages.ts';

/** An error answer; `error-numbers.ts` explains `errcode`. */
export interface RpbErrorResp {
  readonly errmsg: Uint8Array;
  readonly errcode: number;
}

/** The id that a client gives itself. */
export interface RpbClientId {
  readonly client_id: Uint8Array;
}

/** A client's name and password. */
export interface RpbAuthReq {
  readonly user: Uint8Array;
  readonly password: Uint8Array;
}

/** The node's name and version. */
export interface RpbGetServerInfoResp {
  readonly node?: Uint8Array | undefined;
  readonly server_version?: Uint8Array | undefined;
}

/** Deletes an object. */
export interface RpbDelReq {
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
  readonly rw?: number | undefined;
  readonly vclock?: Uint8Array | undefined;
  readonly r?: number | undefined;
  readonly w?: number | undefined;
  readonly pr?: number | undefined;
  readonly pw?: number | undefined;
  readonly dw?: number | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  readonly sloppy_quorum?: boolean | undefined;
  readonly n_val?: number | undefined;
  readonly type?: Uint8Array | undefined;
}

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
  /** The whole frame, ready to be written. */
  encode(message: T): Buffer;
  /** Throws `BadRequest` that names the message and what is wrong with it. */
  decode(body: Buffer): T;
}

const root = protobuf
  .parse(schemaText + bucketSchemaText + mapReduceSchemaText + transactionSchemaText, { keepCase: true })
  .root.resolveAll();

/** The message kinds, by the names of Riak's protocol without their prefix. Codes 210 to 217 are the product's own. */
export const messages = {
  errorResp: kindOf<RpbErrorResp>(0, 'RpbErrorResp'),
  pingReq: emptyKind(1, 'RpbPingReq'),
  pingResp: emptyKind(2, 'RpbPingResp'),
  getClientIdReq: emptyKind(3, 'RpbGetClientIdReq'),
  getClientIdResp: kindOf<RpbClientId>(4, 'RpbGetClientIdResp'),
  setClientIdReq: kindOf<RpbClientId>(5, 'RpbSetClientIdReq'),
  setClientIdResp: emptyKind(6, 'RpbSetClientIdResp'),
  getServerInfoReq: emptyKind(7, 'RpbGetServerInfoReq'),
  getServerInfoResp: kindOf<RpbGetServerInfoResp>(8, 'RpbGetServerInfoResp'),
  getReq: byHand<RpbGetReq>(9, 'RpbGetReq', { encode: encodeGetReq, decode: decodeGetReq }),
  getResp: byHand<RpbGetResp>(10, 'RpbGetResp', { encode: encodeGetResp, decode: decodeGetResp }),
  putReq: byHand<RpbPutReq>(11, 'RpbPutReq', { encode: encodePutReq, decode: decodePutReq }),
  putResp: byHand<RpbPutResp>(12, 'RpbPutResp', { encode: encodePutResp }),
  delReq: kindOf<RpbDelReq>(13, 'RpbDelReq'),
  delResp: emptyKind(14, 'RpbDelResp'),
  listBucketsReq: kindOf<RpbListBucketsReq>(15, 'RpbListBucketsReq'),
  listBucketsResp: kindOf<RpbListBucketsResp>(16, 'RpbListBucketsResp'),
  listKeysReq: kindOf<RpbListKeysReq>(17, 'RpbListKeysReq'),
  listKeysResp: kindOf<RpbListKeysResp>(18, 'RpbListKeysResp'),
  getBucketReq: kindOf<RpbGetBucketReq>(19, 'RpbGetBucketReq'),
  getBucketResp: kindOf<RpbGetBucketResp>(20, 'RpbGetBucketResp'),
  setBucketReq: kindOf<RpbSetBucketReq>(21, 'RpbSetBucketReq'),
  setBucketResp: emptyKind(22, 'RpbSetBucketResp'),
  mapRedReq: kindOf<RpbMapRedReq>(23, 'RpbMapRedReq'),
  mapRedResp: kindOf<RpbMapRedResp>(24, 'RpbMapRedResp'),
  resetBucketReq: kindOf<RpbGetBucketReq>(29, 'RpbResetBucketReq'),
  resetBucketResp: emptyKind(30, 'RpbResetBucketResp'),
  getBucketTypeReq: kindOf<RpbBucketTypeReq>(31, 'RpbGetBucketTypeReq'),
  setBucketTypeReq: kindOf<RpbSetBucketTypeReq>(32, 'RpbSetBucketTypeReq'),
  preflistReq: kindOf<RpbPreflistReq>(33, 'RpbGetBucketKeyPreflistReq'),
  preflistResp: kindOf<RpbPreflistResp>(34, 'RpbGetBucketKeyPreflistResp'),
  transactionReq: byHand<LockTransactionReq>(210, 'LockTransactionReq', {
    encode: encodeTransactionReq,
    decode: decodeTransactionReq,
  }),
  transactionResp: byHand<LockTransactionResp>(211, 'LockTransactionResp', {
    encode: encodeTransactionResp,
    decode: decodeTransactionResp,
  }),
  transactionGetReq: kindOf<LockTransactionGetReq>(212, 'LockTransactionGetReq'),
  transactionGetResp: kindOf<LockTransactionResp>(213, 'LockTransactionResp'),
  transactionListReq: emptyKind(214, 'LockTransactionListReq'),
  transactionListResp: kindOf<LockTransactionListResp>(215, 'LockTransactionListResp'),
  transactionResolveReq: kindOf<LockTransactionResolveReq>(216, 'LockTransactionResolveReq'),
  transactionResolveResp: kindOf<LockTransactionResp>(217, 'LockTransactionResp'),
  authReq: kindOf<RpbAuthReq>(253, 'RpbAuthReq'),
  authResp: emptyKind(254, 'RpbAuthResp'),
  startTlsReq: emptyKind(255, 'RpbStartTls'),
} as const;

function kindOf<T extends object>(code: number, name: string): MessageKind<T> {
  const type = root.lookupType(name);
  forgetDefaults(type);
  return {
    code,
    name,
    encode: (message) => finishFrame(type.encode(message, beginFrame()), code),
    decode: (body) => {
      try {
        // The schema and the interface T describe the same fields; the round-trip tests check that.
        return type.decode(body) as object as T;
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
function byHand<T extends object>(code: number, name: string, hand: HandCodec<T>): MessageKind<T> {
  const kind = kindOf<T>(code, name);
  return {
    code,
    name,
    encode: (message) => hand.encode(message, code) ?? kind.encode(message),
    decode: (body) => hand.decode?.(body) ?? kind.decode(body),
  };
}

/** A message with an empty body; the decoder ignores any content. */
function emptyKind(code: number, name: string): MessageKind<Empty> {
  return { code, name, encode: () => finishFrame(beginFrame(), code), decode: () => ({}) };
}

/**
 * protobufjs returns the type's default for an absent field, from the prototype. Absent must stay absent: an `r` of 0
 * and no `r` are different requests.
 */
function forgetDefaults(type: Type): void {
  const prototype = type.ctor.prototype as object;
  for (const field of type.fieldsArray) {
    if (!field.repeated) Reflect.set(prototype, field.name, undefined);
    if (field.resolvedType instanceof protobuf.Type && field.resolvedType !== type)
      forgetDefaults(field.resolvedType);
  }
}
