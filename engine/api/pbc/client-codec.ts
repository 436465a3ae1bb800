/**
 * The client's side of the binary protocol: encodes requests to frames and decodes answers to values. The server does
 * not use it; the simulator's clients, the load generators and the tests do.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { errorTable, LockstepError } from '../../base/errors.ts';
import { codeOfRiakText, errorCodeOf, isDefinite } from './error-numbers.ts';
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
} from './bucket-messages.ts';
import type { Frame } from './frames.ts';
import type { RpbMapRedReq, RpbMapRedResp } from './schema.ts';
import type { RpbDelReq, RpbGetReq, RpbGetResp, RpbPutReq, RpbPutResp } from './object-messages.ts';
import type { RpbAuthReq } from './schema.ts';
import { messages } from './schema.ts';
import type {
  LockTransactionGetReq,
  LockTransactionListResp,
  LockTransactionReq,
  LockTransactionResolveReq,
  LockTransactionResp,
} from './transaction-messages.ts';

/** A request as a client makes it. */
export type ClientRequest =
  | { readonly kind: 'ping' }
  | { readonly kind: 'auth'; readonly message: RpbAuthReq }
  | { readonly kind: 'getServerInfo' }
  | { readonly kind: 'getClientId' }
  | { readonly kind: 'setClientId'; readonly clientId: Uint8Array }
  | { readonly kind: 'get'; readonly message: RpbGetReq }
  | { readonly kind: 'put'; readonly message: RpbPutReq }
  | { readonly kind: 'delete'; readonly message: RpbDelReq }
  | { readonly kind: 'getBucket' | 'resetBucket'; readonly message: RpbGetBucketReq }
  | { readonly kind: 'setBucket'; readonly message: RpbSetBucketReq }
  | { readonly kind: 'getBucketType'; readonly message: RpbBucketTypeReq }
  | { readonly kind: 'setBucketType'; readonly message: RpbSetBucketTypeReq }
  | { readonly kind: 'listKeys'; readonly message: RpbListKeysReq }
  | { readonly kind: 'listBuckets'; readonly message: RpbListBucketsReq }
  | { readonly kind: 'mapReduce'; readonly message: RpbMapRedReq }
  | { readonly kind: 'preflist'; readonly message: RpbPreflistReq }
  | { readonly kind: 'transaction'; readonly message: LockTransactionReq }
  | { readonly kind: 'transactionGet'; readonly message: LockTransactionGetReq }
  | { readonly kind: 'transactionList' }
  | { readonly kind: 'transactionResolve'; readonly message: LockTransactionResolveReq };

/** One frame of an answer. */
export type ClientReply =
  | { readonly kind: 'pong' | 'authenticated' }
  | { readonly kind: 'serverInfo'; readonly node: string; readonly version: string }
  | { readonly kind: 'clientId'; readonly clientId: Uint8Array }
  | { readonly kind: 'clientIdSet' }
  | { readonly kind: 'got'; readonly message: RpbGetResp }
  | { readonly kind: 'stored'; readonly message: RpbPutResp }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'bucketProps'; readonly message: RpbGetBucketResp }
  | { readonly kind: 'bucketSet' | 'bucketReset' }
  /** One frame of a listing; `done` marks the last. */
  | { readonly kind: 'keys'; readonly message: RpbListKeysResp }
  | { readonly kind: 'buckets'; readonly message: RpbListBucketsResp }
  | { readonly kind: 'mapReduced'; readonly message: RpbMapRedResp }
  | { readonly kind: 'preflist'; readonly message: RpbPreflistResp }
  | { readonly kind: 'transacted'; readonly message: LockTransactionResp }
  | { readonly kind: 'inDoubt'; readonly message: LockTransactionListResp }
  /** `code` is undefined if the error has neither a number of this product nor a text of Riak. */
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode | undefined;
      readonly text: string;
      /** The operation certainly did not happen. */
      readonly definite: boolean;
    };

/** The frame of a request. */
export function encodeRequest(request: ClientRequest): Buffer {
  switch (request.kind) {
    case 'ping':
      return messages.pingReq.encode({});
    case 'auth':
      return messages.authReq.encode(request.message);
    case 'getServerInfo':
      return messages.getServerInfoReq.encode({});
    case 'getClientId':
      return messages.getClientIdReq.encode({});
    case 'setClientId':
      return messages.setClientIdReq.encode({ client_id: request.clientId });
    case 'get':
      return messages.getReq.encode(request.message);
    case 'put':
      return messages.putReq.encode(request.message);
    case 'delete':
      return messages.delReq.encode(request.message);
    case 'getBucket':
      return messages.getBucketReq.encode(request.message);
    case 'resetBucket':
      return messages.resetBucketReq.encode(request.message);
    case 'setBucket':
      return messages.setBucketReq.encode(request.message);
    case 'getBucketType':
      return messages.getBucketTypeReq.encode(request.message);
    case 'setBucketType':
      return messages.setBucketTypeReq.encode(request.message);
    case 'listKeys':
      return messages.listKeysReq.encode(request.message);
    case 'listBuckets':
      return messages.listBucketsReq.encode(request.message);
    case 'mapReduce':
      return messages.mapRedReq.encode(request.message);
    case 'preflist':
      return messages.preflistReq.encode(request.message);
    case 'transaction':
      return messages.transactionReq.encode(request.message);
    case 'transactionGet':
      return messages.transactionGetReq.encode(request.message);
    case 'transactionList':
      return messages.transactionListReq.encode({});
    case 'transactionResolve':
      return messages.transactionResolveReq.encode(request.message);
  }
}

/**
 * Decodes a server's frame. Throws `FrameInvalid` for a code that no server sends, `BadRequest` for a malformed body.
 */
export function decodeReply(frame: Frame): ClientReply {
  switch (frame.code) {
    case messages.errorResp.code: {
      const { errmsg, errcode } = messages.errorResp.decode(frame.body);
      const text = utf8(errmsg);
      const code = errcode === 0 ? codeOfRiakText(text) : errorCodeOf(errcode);
      const definite = isDefinite(errcode) || (code !== undefined && errorTable[code].definite);
      return { kind: 'failed', code, text, definite };
    }
    case messages.pingResp.code:
      return { kind: 'pong' };
    case messages.authResp.code:
      return { kind: 'authenticated' };
    case messages.getClientIdResp.code:
      return { kind: 'clientId', clientId: messages.getClientIdResp.decode(frame.body).client_id };
    case messages.setClientIdResp.code:
      return { kind: 'clientIdSet' };
    case messages.getServerInfoResp.code: {
      const info = messages.getServerInfoResp.decode(frame.body);
      return { kind: 'serverInfo', node: utf8(info.node), version: utf8(info.server_version) };
    }
    case messages.getResp.code:
      return { kind: 'got', message: messages.getResp.decode(frame.body) };
    case messages.putResp.code:
      return { kind: 'stored', message: messages.putResp.decode(frame.body) };
    case messages.delResp.code:
      return { kind: 'deleted' };
    case messages.getBucketResp.code:
      return { kind: 'bucketProps', message: messages.getBucketResp.decode(frame.body) };
    case messages.setBucketResp.code:
      return { kind: 'bucketSet' };
    case messages.resetBucketResp.code:
      return { kind: 'bucketReset' };
    case messages.listKeysResp.code:
      return { kind: 'keys', message: messages.listKeysResp.decode(frame.body) };
    case messages.listBucketsResp.code:
      return { kind: 'buckets', message: messages.listBucketsResp.decode(frame.body) };
    case messages.mapRedResp.code:
      return { kind: 'mapReduced', message: messages.mapRedResp.decode(frame.body) };
    case messages.preflistResp.code:
      return { kind: 'preflist', message: messages.preflistResp.decode(frame.body) };
    case messages.transactionResp.code:
    case messages.transactionGetResp.code:
    case messages.transactionResolveResp.code:
      return { kind: 'transacted', message: messages.transactionResp.decode(frame.body) };
    case messages.transactionListResp.code:
      return { kind: 'inDoubt', message: messages.transactionListResp.decode(frame.body) };
    default:
      throw new LockstepError('FrameInvalid', `a server does not send message code ${frame.code}`);
  }
}

function utf8(bytes: Uint8Array | undefined): string {
  return bytes === undefined
    ? ''
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
