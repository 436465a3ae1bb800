/** Composes the tombstone reaper from the configuration, and its metrics families. */
import type { Epochs } from '../buckets/epochs.ts';
import type { NodeConfig } from '../config/config.ts';
import type { ClientKeys } from '../replica/client-keys.ts';
import type { Hints } from '../replication/hints/hints.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import { Reaper } from '../replication/tombstones/reaper.ts';
import type { Io } from '../io/io.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Plane } from '../peer/plane.ts';
import type { FamilySource } from '../metrics/family.ts';
import { counterOf, gaugeOf } from '../metrics/family.ts';
import type { Store } from '../storage/store.ts';
import { isSystemKey } from '../base/object-key.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { PeerRequest } from '../peer/wire/messages.ts';

/** Bounds of the interval between two searches for due tombstones, which is a tenth of the grace. */
const intervalMsMin = 500;
const intervalMsMax = 60_000;

/** Requests that bring objects to a node, or fetch objects that are sent to another node later. */
const ofObjects: ReadonlySet<PeerRequest['kind']> = new Set([
  'readObject',
  'readMany',
  'mergeObject',
  'mergeBatch',
  'mergeMany',
  'keepHint',
  // A batch of a range may be older than the writes that are made meanwhile.
  'transferRange',
]);

/** Composes the reaper over the node's store; not yet started. */
export function composeReaper(
  io: Io,
  config: NodeConfig,
  parts: RoundDependencies,
  hints: Hints | undefined,
  store: Store,
  membership: Pick<Membership, 'members' | 'member'>,
  plane: () => Pick<Plane, 'oldestRequestUs'>,
): Reaper {
  const graceMs = config.tombstoneGraceSeconds * 1000;
  const reaper = new Reaper(
    {
      ...parts,
      ...clientKeysOf(store, parts.router.epochs),
      io,
      hints,
      oldestRequestUs: () => plane().oldestRequestUs(ofObjects),
      // A node that waits to join is in no ring, so its record stands for it.
      members: () => membership.members().map((record) => membership.member(record.node) ?? record),
    },
    {
      graceMs,
      intervalUs: Math.min(intervalMsMax, Math.max(intervalMsMin, graceMs / 10)) * 1000,
      timeoutUs: config.peerRequestTimeoutMs * 1000,
    },
  );
  for (const family of reaperFamilies(reaper)) parts.stats.register(family);
  return reaper;
}

/** The store's keys without the engine's own records, and without those that were flushed. */
export function clientKeysOf(store: Store, epochs: Pick<Epochs, 'isFormer'>): ClientKeys {
  return {
    *keys() {
      for (const key of objectKeys(store)) if (!epochs.isFormer(key)) yield key;
    },
    tokenOf: (key) => store.tokenOf(key),
    bytesOf: (key) => store.get(key),
  };
}

/** Whether the store holds nothing but the engine's own records. */
export function isEmpty(store: Store): boolean {
  return objectKeys(store).next().done === true;
}

/** The store's keys without the engine's own records. */
export function* objectKeys(store: Store): Generator<PackedKey, void, undefined> {
  for (const key of store.keys()) if (!isSystemKey(key)) yield key;
}

function reaperFamilies(reaper: Reaper): readonly FamilySource[] {
  return [
    counterOf(
      'svc_tombstones_reaped_total',
      'Deletions that this node has forgotten, since every member held them longer than the grace.',
      () => reaper.reaped,
    ),
    gaugeOf('svc_tombstones_kept', 'Deletions in sight that are to be forgotten.', () => reaper.known),
  ];
}
