/**
 * What clients did and saw, as the checks read it: every operation with its invocation, its completion and its
 * outcome in virtual time. Plain data, no behaviour of the world; the checks import nothing else.
 *
 * Values are traced by tags: every put writes a value that begins with a tag of its own, so a tag names one write.
 */

/** `fail`: certainly did not happen. `unknown`: may have happened, may still happen. */
export type Outcome = 'ok' | 'fail' | 'unknown';

interface OperationBase {
  /** Place in the history; the order of invocation. */
  readonly id: number;
  readonly client: string;
  /** `bucket/key`. */
  readonly key: string;
  /** The bucket keeps concurrent writes side by side (`allow_mult`); otherwise the newest wins. */
  readonly siblings: boolean;
  /** The node asked, and its datacenter. */
  readonly node: string;
  readonly datacenter: string;
  /** Replicas of the key in that datacenter, and how many of them the operation waits for. */
  readonly copies: number;
  readonly need: number;
  /** How many it waits for in every other datacenter; left out: none. */
  readonly far?: number;
  /** The copies that answer a read have to be equal. */
  readonly agree?: boolean;
  /** Microseconds of virtual time. `completedUs` is absent while, and for as long as, nothing was heard. */
  readonly invokedUs: number;
  readonly completedUs: number | undefined;
  readonly outcome: Outcome;
  /** Why it was not `ok`, for people. */
  readonly reason: string;
}

export interface ReadOperation extends OperationBase {
  readonly kind: 'get';
  /** Tags of the values returned; empty when the key holds none. */
  readonly values: readonly string[];
  /** Made after the calm, when nothing disturbs the cluster any more. */
  readonly final: boolean;
}

export interface WriteOperation extends OperationBase {
  readonly kind: 'put' | 'delete';
  /** The tag of a put's value; empty for a deletion. */
  readonly tag: string;
  /** Id of the read whose causal context the write carried; undefined when it carried none. */
  readonly contextFrom: number | undefined;
  /** At the moment of `ok`: replicas of the key (in that datacenter) whose disk certainly keeps the tag. */
  readonly durableCopies: number;
}

export type Operation = ReadOperation | WriteOperation;

export type History = readonly Operation[];

export function isRead(operation: Operation): operation is ReadOperation {
  return operation.kind === 'get';
}

export function isWrite(operation: Operation): operation is WriteOperation {
  return operation.kind !== 'get';
}

/** The operations of each key, in the history's order; keys in order of first use. */
export function byKey(history: History): ReadonlyMap<string, History> {
  const keys = new Map<string, Operation[]>();
  for (const operation of history) {
    const known = keys.get(operation.key);
    if (known === undefined) keys.set(operation.key, [operation]);
    else known.push(operation);
  }
  return keys;
}

/** `#12 c1 put b0/k3 «w:1:4» at n2: ok in 3.1 ms`, for people. */
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
