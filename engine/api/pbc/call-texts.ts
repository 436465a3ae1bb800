/** What the calls of the binary protocol share: names, quorum numbers and Riak's error texts. */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { textOf } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { Need } from '../../replication/requests.ts';
import type { KnowsType } from '../objects.ts';
import { timeoutMsMax } from '../objects.ts';
import { stringOf } from './contents.ts';
import { quorumNames } from './schema.ts';

/** A refusal with one of Riak's own texts, which is sent unchanged. */
export class RiakRefusal extends LockstepError {}

/** The need that a quorum field states: Riak's numbers for words, or a number of replicas. */
export function needOf(quorum: number | undefined): Need {
  switch (quorum) {
    case undefined:
    case quorumNames.default:
      return 'default';
    case quorumNames.one:
      return 'one';
    case quorumNames.quorum:
      return 'quorum';
    case quorumNames.all:
      return 'all';
    default:
      return quorum;
  }
}

/** The need of a read, which may also be the product's `primary`. */
export function readNeedOf(quorum: number | undefined): Need | 'primary' {
  return quorum === quorumNames.primary ? 'primary' : needOf(quorum);
}

/** The timeout in milliseconds, at most `timeoutMsMax`. Clients send 0 for "not given". */
export function timeoutOf(timeout: number | undefined): number | undefined {
  return timeout === undefined || timeout === 0 ? undefined : Math.min(timeout, timeoutMsMax);
}

interface Named {
  readonly bucket: Uint8Array;
  readonly type?: Uint8Array | undefined;
}

/** The object's full name. Throws `RiakRefusal` with Riak's text. */
export function nameOf(message: Named, key: Uint8Array, knowsType: KnowsType): ObjectKey {
  if (message.bucket.length === 0) throw new RiakRefusal('BadRequest', 'Bucket cannot be zero-length');
  if (key.length === 0) throw new RiakRefusal('BadRequest', 'Key cannot be zero-length');
  const type = message.type === undefined ? defaultType : typeOf(message.type, knowsType);
  return objectKey(type, stringOf(message.bucket), stringOf(key));
}

/** The bucket type of that name. Throws `RiakRefusal` with Riak's text. */
export function typeOf(name: Uint8Array, knowsType: KnowsType): ByteString {
  if (name.length === 0) throw new RiakRefusal('BadRequest', 'Type cannot be zero-length');
  const type = stringOf(name);
  if (type === defaultType || knowsType(type)) return type;
  throw new RiakRefusal('NotFound', `Unknown bucket type: ${textOf(type)}`);
}
