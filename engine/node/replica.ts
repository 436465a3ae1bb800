/** Composes this node as a replica, over its store. Logs what its writes prune from causal contexts. */
import { nameOfKey } from '../base/object-key.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { Io } from '../io/io.ts';
import { objectFormat2Since } from '../peer/wire/versions.ts';
import type { Actor } from '../replica/object/dots.ts';
import { describeVector } from '../replica/object/dots.ts';
import { Replica } from '../replica/replica.ts';
import type { StoreDriver } from '../storage/driver.ts';

/** `actor`: the name of this incarnation. `version`: the least that a member has. */
export function composeReplica(
  { clock, log }: Pick<Io, 'clock' | 'log'>,
  store: StoreDriver,
  actor: Actor,
  buckets: Buckets,
  version: { readonly minimum: number },
): Replica {
  const replica = new Replica(
    store,
    clock,
    actor,
    (key) => buckets.ofKey(key),
    () => version.minimum >= objectFormat2Since,
  );
  replica.onPruned((key, dot, gone, left) => {
    if (!log.enabled('debug')) return;
    const [name, entries] = [nameOfKey(key), describeVector(gone)];
    log.event('debug', 'replica.context.pruned', { key: name, entries, left, by: describeVector([dot]) });
  });
  return replica;
}
