/** Decides which calls of one connection may run concurrently, and how each kind is answered. */
import type { Operation } from '../client-observer.ts';
import type { BucketCall } from './bucket-calls.ts';
import type { Call, ObjectCall } from './calls.ts';
import type { ListingCall } from './listing-calls.ts';
import type { MapReduceCall } from './map-reduce-calls.ts';
import type { TransactionCall } from './transaction-calls.ts';

/** A call that one frame answers after a while. */
export type WaitingCall = ObjectCall | TransactionCall | BucketCall;

/** A call that is answered at once, since it needs nothing that is stored. */
export type QuickCall = Exclude<Call, WaitingCall | StreamedCall>;

/** A call that a series of frames answers. */
export type StreamedCall = ListingCall | MapReduceCall;

/** Whether the session can answer the call at once. */
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

/** Whether the call is answered by a series of frames. */
export function isStreamed(call: Call): call is StreamedCall {
  return call.kind === 'listKeys' || call.kind === 'listBuckets' || call.kind === 'mapReduce';
}

/** Whether the call reads or writes objects, and is counted as a request. */
export function concernsObjects(call: WaitingCall): call is ObjectCall | TransactionCall {
  return 'key' in call || call.kind.startsWith('transaction');
}

/** Whether the call counts as a read; otherwise it is a write. */
export function reads({ kind }: ObjectCall | TransactionCall): boolean {
  return kind === 'get' || kind === 'transactionGet' || kind === 'transactionList';
}

/** What the call is counted as. */
export function operationOf({ kind }: ObjectCall | TransactionCall): Operation {
  switch (kind) {
    case 'get':
    case 'put':
    case 'delete':
    case 'transaction':
      return kind;
    case 'transactionGet':
    case 'transactionList':
      return 'read';
    case 'transactionResolve':
      return 'write';
  }
}

/**
 * Whether `call` must wait for `earlier`: both concern one object and at least one of them writes it, or one of them
 * runs alone.
 */
export function meet(earlier: Call, call: Call): boolean {
  if (goesAlone(earlier) || goesAlone(call)) return true;
  if ('key' in earlier && 'key' in call)
    return earlier.key.packed === call.key.packed && (call.kind !== 'get' || earlier.kind !== 'get');
  if (earlier.kind === 'transaction') return writesOneOf(earlier, call);
  return call.kind === 'transaction' && writesOneOf(call, earlier);
}

/** The frames of a stream must not mix with other answers. Set properties must apply to all later calls. */
function goesAlone(call: Call): boolean {
  return isStreamed(call) || 'set' in call || call.kind === 'resetBucket';
}

function writesOneOf({ request }: Extract<Call, { kind: 'transaction' }>, other: Call): boolean {
  const named = (packed: string): boolean => request.operations.some(({ key }) => key.packed === packed);
  if ('key' in other) return named(other.key.packed);
  return other.kind === 'transaction' && other.request.operations.some(({ key }) => named(key.packed));
}
