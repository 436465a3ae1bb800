/**
 * The history of single-key operations, for the checks: each with its invocation, completion and outcome in virtual
 * time. Plain data; the checks need nothing else of the world.
 *
 * Every put writes a value that begins with a unique tag, so a tag names one write.
 */

/** `fail`: it certainly did not happen. `unknown`: it may have happened, or may still happen. */
export type Outcome = 'ok' | 'fail' | 'unknown';

/** Numbers of replicas, by datacenter. */
export type ByDatacenter = Readonly<Record<string, number>>;

interface OperationBase {
  /** Place in the history, in order of invocation. */
  readonly id: number;
  readonly client: string;
  /** Bucket and key, as `bucket/key`. */
  readonly key: string;
  /** Whether the bucket keeps concurrent writes as siblings (`allow_mult`); otherwise the newest write wins. */
  readonly siblings: boolean;
  /** The node that the client asked, and the datacenter of that node. */
  readonly node: string;
  readonly datacenter: string;
  /** How many replicas the key has in that datacenter, and how many of them the operation waits for. */
  readonly copies: number;
  readonly need: number;
  /** How many replicas it waits for in each other datacenter; absent for none. */
  readonly far?: ByDatacenter;
  /** Whether the copies that answer a read must be equal. */
  readonly agree?: boolean;
  /** Microseconds of virtual time. `completedUs` is undefined while the client has no answer. */
  readonly invokedUs: number;
  readonly completedUs: number | undefined;
  readonly outcome: Outcome;
  /** Why it was not `ok`, for people. */
  readonly reason: string;
  /** Whether the node refused it because its condition did not hold. Absent: no. */
  readonly unmet?: boolean;
}

/** A read of one key. */
export interface ReadOperation extends OperationBase {
  readonly kind: 'get';
  /** Tags of the values returned; empty if the key holds none. */
  readonly values: readonly string[];
  /** Whether the read was made after the calm, when no fault disturbs the cluster any more. */
  readonly final: boolean;
}

/** A put or a deletion of one key. */
export interface WriteOperation extends OperationBase {
  readonly kind: 'put' | 'delete';
  /** The tag of a put's value; empty for a deletion. */
  readonly tag: string;
  /** Id of the read whose context the write carried; undefined if it carried none. */
  readonly contextFrom: number | undefined;
  /**
   * The condition of a write: the key holds nothing (`absent`), its context is that of the read `contextFrom`
   * (`unchanged`), or its entity tag is (`tag`), or the key does not hold the value `excluded` (`differs`). Absent: none.
   */
  readonly condition?: 'absent' | 'unchanged' | 'tag' | 'differs';
  /** With `differs`: the tag of the value that the put's `If-None-Match` names. */
  readonly excluded?: string;
  /** How many replicas of the key in that datacenter certainly keep the tag on disk at the moment of `ok`. */
  readonly durableCopies: number;
  /** The same in each other datacenter, of a write that waits for replicas there (`far`). Absent: it does not. */
  readonly farCopies?: ByDatacenter;
}

/** One operation of a client on one key. */
export type Operation = ReadOperation | WriteOperation;

/** All single-key operations of a run, in order of invocation. */
export type History = readonly Operation[];

/** Narrows an operation to a read. */
export function isRead(operation: Operation): operation is ReadOperation {
  return operation.kind === 'get';
}

/** Narrows an operation to a put or a deletion. */
export function isWrite(operation: Operation): operation is WriteOperation {
  return operation.kind !== 'get';
}

/** Groups the operations by key. Each key's operations keep the history's order; keys come in order of first use. */
export function byKey(history: History): ReadonlyMap<string, History> {
  const keys = new Map<string, Operation[]>();
  for (const operation of history) {
    const known = keys.get(operation.key);
    if (known === undefined) keys.set(operation.key, [operation]);
    else known.push(operation);
  }
  return keys;
}

/** One line for people: `#12 c1 put b0/k3 «w:1:4» at n2: ok in 3.1 ms`. */
export function describeOperation(operation: Operation): string {
  const what = operation.kind === 'put' ? ` ${operation.tag}` : '';
  const saw =
    operation.kind === 'get' && operation.outcome === 'ok' ? ` saw ${describeTags(operation.values)}` : '';
  const end = operation.completedUs;
  const took = end === undefined ? '' : ` in ${((end - operation.invokedUs) / 1000).toFixed(1)} ms`;
  const why = operation.reason === '' ? '' : ` (${operation.reason})`;
  return `#${operation.id} ${operation.client} ${operation.kind} ${operation.key}${what} at ${operation.node}: ${operation.outcome}${took}${saw}${why}`;
}

function describeTags(tags: readonly string[]): string {
  return tags.length === 0 ? 'nothing' : tags.join(' ');
}
