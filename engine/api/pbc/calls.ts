/**
 * Parses a frame to a call: decoded, with its object named and its fields checked. Parsing has no effects, so the
 * session can decide when to run the call.
 */
import type { ObjectKey } from '../../base/object-key.ts';
import type { ReplicaTerms } from '../../replication/needs.ts';
import type { Random } from '../../io/random.ts';
import type { KnowsType } from '../objects.ts';
import { makeKey } from '../tags.ts';
import type { TransactionLimits } from '../transaction-rules.ts';
import type { BucketCall } from './bucket-calls.ts';
import { parseBucketCall } from './bucket-calls.ts';
import { nameOf, RiakRefusal } from './call-texts.ts';
import type { Frame } from './frames.ts';
import type { ListingCall } from './listing-calls.ts';
import { parseListingCall } from './listing-calls.ts';
import type { RpbDelReq, RpbGetReq, RpbPutReq } from './object-messages.ts';
import { messages } from './schema.ts';
import type { TransactionCall } from './transaction-calls.ts';
import type { MapReduceCall, MapReduceCallDependencies } from './map-reduce-calls.ts';
import { parseMapReduceCall } from './map-reduce-calls.ts';
import { parseTransactionCall } from './transaction-calls.ts';

/** Riak's clients send four bytes. A connection holds its client's id until its end. */
const clientIdBytesMax = 1024;

/** A parsed request of any kind. */
export type Call =
  | { readonly kind: 'ping' | 'getServerInfo' | 'getClientId' }
  | { readonly kind: 'setClientId'; readonly clientId: Uint8Array }
  | AuthCall
  | ObjectCall
  | BucketCall
  | ListingCall
  | MapReduceCall
  | TransactionCall;

/** The name and password that a client sent. */
export interface AuthCall {
  readonly kind: 'auth';
  readonly user: string;
  readonly password: Uint8Array;
}

/** A call about one object. */
export type ObjectCall =
  | { readonly kind: 'get'; readonly key: ObjectKey; readonly message: RpbGetReq }
  | { readonly kind: 'put'; readonly key: ObjectKey; readonly message: RpbPutReq }
  | { readonly kind: 'delete'; readonly key: ObjectKey; readonly message: RpbDelReq };

/** What parsing needs. */
export interface CallTerms extends MapReduceCallDependencies {
  readonly io: { readonly random: Random };
  readonly knowsType: KnowsType;
  readonly terms: ReplicaTerms;
  readonly transactionLimits: TransactionLimits;
}

/**
 * Parses a frame. Throws `BadRequest`, `NotFound` for an unknown bucket type, or `TooLarge` for a name beyond its
 * limit.
 */
export function parseCall(frame: Frame, parts: CallTerms): Call {
  const { knowsType, terms, transactionLimits } = parts;
  switch (frame.code) {
    case messages.pingReq.code:
      return { kind: 'ping' };
    case messages.getServerInfoReq.code:
      return { kind: 'getServerInfo' };
    case messages.getClientIdReq.code:
      return { kind: 'getClientId' };
    case messages.setClientIdReq.code: {
      const clientId = Buffer.from(messages.setClientIdReq.decode(frame.body).client_id);
      if (clientId.length > clientIdBytesMax)
        throw new RiakRefusal('BadRequest', `A client id has at most ${clientIdBytesMax} bytes`);
      return { kind: 'setClientId', clientId };
    }
    case messages.authReq.code: {
      const { user, password } = messages.authReq.decode(frame.body);
      return { kind: 'auth', user: Buffer.from(user).toString('utf8'), password };
    }
    case messages.startTlsReq.code:
      throw new RiakRefusal('BadRequest', 'STARTTLS is not offered; a listener with TLS speaks it at once');
    case messages.getReq.code: {
      const message = messages.getReq.decode(frame.body);
      return { kind: 'get', key: nameOf(message, message.key, knowsType), message };
    }
    case messages.putReq.code: {
      const message = messages.putReq.decode(frame.body);
      const key = message.key ?? Buffer.from(makeKey(parts.io.random), 'latin1');
      return { kind: 'put', key: nameOf(message, key, knowsType), message };
    }
    case messages.delReq.code: {
      const message = messages.delReq.decode(frame.body);
      return { kind: 'delete', key: nameOf(message, message.key, knowsType), message };
    }
    default: {
      const call =
        parseBucketCall(frame, knowsType, terms) ??
        parseListingCall(frame, knowsType) ??
        parseMapReduceCall(frame, parts) ??
        parseTransactionCall(frame, transactionLimits);
      if (call !== undefined) return call;
      throw new RiakRefusal('BadRequest', `Unknown message code: ${frame.code}`);
    }
  }
}
