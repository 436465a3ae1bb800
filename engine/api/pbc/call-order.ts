/** Which calls may be under way beside each other on one connection, and how each is answered. */
import type { BucketCall } from './bucket-calls.ts';
import type { Call, ObjectCall } from './calls.ts';
import type { ListingCall } from './listing-calls.ts';
import type { MapReduceCall } from './map-reduce-calls.ts';
import type { TransactionCall } from './transaction-calls.ts';

/** Answered by one frame after a while. */
export type WaitingCall = ObjectCall | TransactionCall | BucketCall;

/** Answered at once: it asks for nothing that is stored. */
export type QuickCall = Exclude<Call, WaitingCall | StreamedCall>;

/** Answered by frames as long as there are more. */
export type StreamedCall = ListingCall | MapReduceCall;

export function isQuick(call: Call): call is QuickCall {
  switch (call.kind) {
    case 'ping':
    case 'getServerInfo':
    case 'getClientId':
    case 'setClientId':
    case 'auth':
      return true;
    default:
      return false;
  }
}

export function isStreamed(call: Call): call is StreamedCall {
  return call.kind === 'listKeys' || call.kind === 'listBuckets' || call.kind === 'mapReduce';
}

/** It reads or writes objects, and is counted as such. */
export function concernsObjects(call: WaitingCall): call is ObjectCall | TransactionCall {
  return 'key' in call || call.kind.startsWith('transaction');
}

export function reads({ kind }: ObjectCall | TransactionCall): boolean {
  return kind === 'get' || kind === 'transactionGet' || kind === 'transactionList';
}

/** They concern one object, and one of the two writes; or one of them goes alone. */
export function meet(earlier: Call, call: Call): boolean {
  if (goesAlone(earlier) || goesAlone(call)) return true;
  if ('key' in earlier && 'key' in call)
    return earlier.key.packed === call.key.packed && (call.kind !== 'get' || earlier.kind !== 'get');
  if (earlier.kind === 'transaction') return writesOneOf(earlier, call);
  return call.kind === 'transaction' && writesOneOf(call, earlier);
}

/** The frames of a stream are not to mix with other answers; what sets properties is to hold for what comes after it. */
function goesAlone(call: Call): boolean {
  return isStreamed(call) || 'set' in call || call.kind === 'resetBucket';
}

function writesOneOf({ request }: Extract<Call, { kind: 'transaction' }>, other: Call): boolean {
  const named = (packed: string): boolean => request.operations.some(({ key }) => key.packed === packed);
  if ('key' in other) return named(other.key.packed);
  return other.kind === 'transaction' && other.request.operations.some(({ key }) => named(key.packed));
}
