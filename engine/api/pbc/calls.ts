/**
 * From a frame to what it asks for: decoded, its object named, its words checked. Nothing has been done yet, so the
 * session can still decide when to do it.
 */
import { LockstepError } from '../../base/errors.ts';
import { textOf } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { Need } from '../../dispatch/requests.ts';
import type { Random } from '../../io/random.ts';
import type { KnowsType } from '../objects.ts';
import { timeoutMsMax } from '../objects.ts';
import { makeKey } from '../tags.ts';
import type { TransactionLimits } from '../transaction-rules.ts';
import { stringOf } from './contents.ts';
import type { Frame } from './frames.ts';
import type { RpbDelReq, RpbGetReq, RpbPutReq } from './schema.ts';
import { messages, quorumWords } from './schema.ts';
import type { TransactionCall } from './transaction-calls.ts';
import { parseTransactionCall } from './transaction-calls.ts';

export type Call =
  | { readonly kind: 'ping' | 'getServerInfo' | 'getClientId' }
  | { readonly kind: 'setClientId'; readonly clientId: Uint8Array }
  | ObjectCall
  | TransactionCall;

/** A call about one object. */
export type ObjectCall =
  | { readonly kind: 'get'; readonly key: ObjectKey; readonly message: RpbGetReq }
  | { readonly kind: 'put'; readonly key: ObjectKey; readonly message: RpbPutReq }
  | { readonly kind: 'delete'; readonly key: ObjectKey; readonly message: RpbDelReq };

/** A request refused in words of Riak's, which go out as they are. */
export class RiakRefusal extends LockstepError {}

/** Throws `BadRequest`, `NotFound` for an unknown bucket type, `TooLarge` for a name beyond its limit. */
export function parseCall(
  frame: Frame,
  knowsType: KnowsType,
  limits: TransactionLimits,
  random: Random,
): Call {
  switch (frame.code) {
    case messages.pingReq.code:
      return { kind: 'ping' };
    case messages.getServerInfoReq.code:
      return { kind: 'getServerInfo' };
    case messages.getClientIdReq.code:
      return { kind: 'getClientId' };
    case messages.setClientIdReq.code:
      return {
        kind: 'setClientId',
        clientId: Buffer.from(messages.setClientIdReq.decode(frame.body).client_id),
      };
    case messages.getReq.code: {
      const message = messages.getReq.decode(frame.body);
      return { kind: 'get', key: nameOf(message, message.key, knowsType), message };
    }
    case messages.putReq.code: {
      const message = messages.putReq.decode(frame.body);
      const key = message.key ?? Buffer.from(makeKey(random), 'latin1');
      return { kind: 'put', key: nameOf(message, key, knowsType), message };
    }
    case messages.delReq.code: {
      const message = messages.delReq.decode(frame.body);
      return { kind: 'delete', key: nameOf(message, message.key, knowsType), message };
    }
    default: {
      const call = parseTransactionCall(frame, limits);
      if (call !== undefined) return call;
      throw new RiakRefusal('BadRequest', `Unknown message code: ${frame.code}`);
    }
  }
}

/** The words of the quorum fields; anything else is a number of replicas. */
export function needOf(quorum: number | undefined): Need {
  switch (quorum) {
    case undefined:
    case quorumWords.default:
      return 'default';
    case quorumWords.one:
      return 'one';
    case quorumWords.quorum:
      return 'quorum';
    case quorumWords.all:
      return 'all';
    default:
      return quorum;
  }
}

/** Milliseconds; 0 stands for "not given", as clients send it. */
export function timeoutOf(timeout: number | undefined): number | undefined {
  return timeout === undefined || timeout === 0 ? undefined : Math.min(timeout, timeoutMsMax);
}

interface Named {
  readonly bucket: Uint8Array;
  readonly type?: Uint8Array | undefined;
}

function nameOf(message: Named, key: Uint8Array, knowsType: KnowsType): ObjectKey {
  if (message.bucket.length === 0) throw new RiakRefusal('BadRequest', 'Bucket cannot be zero-length');
  if (key.length === 0) throw new RiakRefusal('BadRequest', 'Key cannot be zero-length');
  if (message.type?.length === 0) throw new RiakRefusal('BadRequest', 'Type cannot be zero-length');
  const type = message.type === undefined ? defaultType : stringOf(message.type);
  if (type !== defaultType && !knowsType(type)) {
    throw new RiakRefusal('NotFound', `Unknown bucket type: ${textOf(type)}`);
  }
  return objectKey(type, stringOf(message.bucket), stringOf(key));
}
