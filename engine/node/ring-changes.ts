/**
 * Composes a node's part in ring changes: the source of ranges, the leave drain, the cleanup. Also describes ring
 * changes to operators (`GET /cluster`) and counts them. The changes themselves are in `cluster/changes/`.
 */
import { answerInTask } from '../peer/wire/answer.ts';
import type { ClusterControl } from '../api/http/cluster-routes.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Hints } from '../replication/hints/hints.ts';
import type { Reply } from '../replication/peer-service.ts';
import type { Plane } from '../peer/plane.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { PropertyKeeper } from '../buckets/property-keeper.ts';
import type { Io } from '../io/io.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { TokenRange } from '../cluster/ring/arc.ts';
import { distance } from '../cluster/ring/arc.ts';
import type { FamilySource } from '../metrics/family.ts';
import { counterBy, counterOf, gaugeBy, gaugeOf } from '../metrics/family.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';
import { LeaveDrain } from '../cluster/changes/leave-drain.ts';
import type {
  MoveProgress,
  MoveWait,
  RingChangeCoordinator,
} from '../cluster/changes/ring-change-coordinator.ts';
import type { RangeStore } from '../cluster/changes/range-source.ts';
import { RangeSource } from '../cluster/changes/range-source.ts';
import { decodeRangeRequest, encodeRangeAnswer } from '../cluster/changes/range-messages.ts';
import type { Rebuild } from '../cluster/changes/rebuild.ts';
import { Cleanup } from '../cluster/changes/cleanup.ts';
import { LostKeys } from '../cluster/changes/lost-keys.ts';
import { LostRecords } from '../cluster/changes/lost-records.ts';
import type { Transfer, TransferOptions } from '../cluster/changes/transfer.ts';
import type { Transactions } from '../transactions/transactions.ts';
import { clientKeysOf } from './tombstone-reaper.ts';
import { peerContentBytesMax } from './topology.ts';

/** The services of one node that take part in ring changes. */
export interface RingChanges {
  readonly ringChangeCoordinator: RingChangeCoordinator;
  readonly rebuild: Rebuild;
  readonly cleanup: Cleanup;
  readonly lostRecords: LostRecords;
  readonly lostKeys: LostKeys;
  readonly transfer: Transfer;
  /** Resolves once this node has left the cluster. */
  readonly left: Promise<void>;
}

/** The source that reads token ranges from the store for peers. */
export function rangeSourceOf(
  config: NodeConfig,
  store: Store,
  driver: StoreDriver,
  { epochs }: Buckets,
): RangeSource {
  const source = {
    isFormer: (key) => epochs.isFormer(key),
    keysOfTokens: (from, to) => store.keysOfTokens(from, to),
    tokenOf: (key) => store.tokenOf(key),
    tryRead: (key, done) => driver.tryRead(key, done),
    tryReadDoubted: (key, done) => driver.tryReadDoubted(key, done),
    hasNewest: (key) => store.hasNewest(key),
    isSuspicious: () => store.suspicious,
  } satisfies RangeStore;
  return new RangeSource(source, peerContentBytesMax(config));
}

/** The configured batch size, rate and timeout of transfers. */
export function transferOptions(config: NodeConfig): TransferOptions {
  return {
    batchBytes: config.transferBatchBytes,
    bytesPerSecond: config.transferBytesPerSecond,
    timeoutUs: config.peerRequestTimeoutMs * 1000,
  };
}

/** The fetching of what this node has lost: of a range before it hands it over, and of keys that are written again. */
export function lostDataOf(
  io: Io,
  config: NodeConfig,
  { self, replica, links }: Pick<RoundDependencies, 'self' | 'replica'> & { readonly links: PeerLinks },
  membership: Membership,
  transfer: Transfer,
  store: Store,
): Pick<RingChanges, 'lostRecords' | 'lostKeys'> {
  const fetched = ({ from, to }: TokenRange): void => {
    for (const key of store.doubtedKeys) {
      const token = store.tokenOf(key);
      if (token !== undefined && distance(from, token) <= distance(from, to)) store.endDoubt(key);
    }
  };
  const findings = (): number => store.damages.length;
  const patienceUs = config.leavePatienceSeconds * 1_000_000;
  const timeoutUs = config.peerRequestTimeoutMs * 1000;
  return {
    lostRecords: new LostRecords({ io, self, membership, transfer, fetched, findings, patienceUs }),
    lostKeys: new LostKeys({ io, self, membership, links, replica, store, timeoutUs }),
  };
}

/** The leave drain: ends this node's transactions, and hands on its hints and bucket properties before it leaves. */
export function leaveDrainOf(
  io: Io,
  config: NodeConfig,
  transactions: Transactions,
  hints: Hints | undefined,
  keeper: Pick<PropertyKeeper, 'close' | 'hasSpread'>,
): LeaveDrain {
  return new LeaveDrain(
    {
      io,
      closeTransactions: () => transactions.close(),
      closeProperties: () => keeper.close(),
      propertiesHaveSpread: () => keeper.hasSpread,
      transactions: () => transactions.underWay,
      handOnHints: () => hints?.handOn() ?? Promise.resolve(0),
    },
    { patienceUs: config.leavePatienceSeconds * 1_000_000, roundUs: config.requestTimeoutMs * 1000 },
  );
}

/** The cleanup: removes keys of ranges that this node no longer owns. */
export function cleanupOf(
  io: Io,
  config: NodeConfig,
  { self, replica, links }: Pick<RoundDependencies, 'self' | 'replica'> & { readonly links: PeerLinks },
  membership: Membership,
  store: Store,
  { epochs }: Buckets,
): Cleanup {
  return new Cleanup(
    {
      io,
      self,
      membership,
      links,
      replica,
      ...clientKeysOf(store, epochs),
    },
    {
      delayUs: config.transferDropDelaySeconds * 1_000_000,
      bytesPerSecond: config.transferBytesPerSecond,
      timeoutUs: config.peerRequestTimeoutMs * 1000,
    },
  );
}

/** Answers a peer that reads a range of this node. Calls `reply` exactly once. */
export function answerTransfer(io: Io, source: RangeSource, words: Uint8Array, reply: Reply): void {
  const asked = Uint8Array.from(words);
  answerInTask(io, 'transfer.answer', reply, async () => {
    const answer = await source.read(decodeRangeRequest(asked));
    return { kind: 'rangeTransferred', words: encodeRangeAnswer(answer) };
  });
}

/** The operator's commands over this node (leave, standby), and the cluster as `GET /cluster` describes it. */
export function clusterControl(
  membership: Membership,
  ringChangeCoordinator: RingChangeCoordinator,
  rebuild: Rebuild,
  transfer: Transfer,
  {
    store,
    hintStore,
  }: { readonly store: Pick<Store, 'state'>; readonly hintStore: Pick<Store, 'state'> | undefined },
  plane: Pick<Plane, 'isConnected' | 'refusals'>,
): ClusterControl {
  return {
    leave: (force) => ringChangeCoordinator.leave(force),
    standby: (ends) => ringChangeCoordinator.standby(ends),
    describe: () => {
      const { ring, self, view } = membership;
      const { heldSeconds: seconds, holders: transactions } = membership.publication.held;
      const { ranges, rangesLeft } = progressOf(ringChangeCoordinator, rebuild);
      const { keysIn, bytesIn, keysOut, bytesOut } = transfer.counts;
      const members = membership.members().map(({ node, datacenter, rack, address, state, move, tokens }) => {
        const span = ring.spanOf(node);
        const share = Math.floor((span * 100_000) / 2 ** 32);
        const opinion = node === self.node ? state : membership.state(node);
        const place = { node, datacenter, rack, address };
        return { ...place, state: opinion, move, owns: span > 0, share, tokens: tokens.length };
      });
      const counted = { keys_in: keysIn, bytes_in: bytesIn, keys_out: keysOut, bytes_out: bytesOut };
      const progress = {
        ranges,
        ranges_left: rangesLeft,
        ...counted,
        waits_for: waitsOf(ringChangeCoordinator, rebuild),
      };
      const held = { seconds, transactions };
      const refused = plane.refusals().map(({ peer: node, reason, detail }) => ({ node, reason, detail }));
      const others = members.map(({ node }) => node).filter((node) => node !== self.node);
      const unconnected = others.filter((node) => !plane.isConnected(node));
      return {
        node: self.node,
        store: store.state,
        ...(hintStore === undefined ? {} : { hint_store: hintStore.state }),
        view,
        members,
        transfer: progress,
        held,
        refused,
        unconnected,
      };
    },
  };
}

/** The progress of the rebuild while it runs, else of the ring change. A member that rebuilds is in no ring change. */
function progressOf(ringChangeCoordinator: RingChangeCoordinator, rebuild: Rebuild): MoveProgress {
  return rebuild.notReadyReason === undefined ? ringChangeCoordinator.progress : rebuild.progress;
}

function waitsOf(ringChangeCoordinator: RingChangeCoordinator, rebuild: Rebuild): MoveWait {
  if (rebuild.notReadyReason === undefined) return ringChangeCoordinator.waitsFor;
  return { members: rebuild.waitsFor, transactions: 0, hints: 0 };
}

/** The metrics families of transfers and of the current ring change. */
export function ringChangeFamilies(
  { transfer, ringChangeCoordinator, rebuild, cleanup }: RingChanges,
  membership: Membership,
): readonly FamilySource[] {
  const { counts } = transfer;
  return [
    counterBy(
      'svc_transfer_keys_total',
      'Keys that came with ranges that this node took over (in), or went with those that it gave away (out).',
      'direction',
      () => ({ in: counts.keysIn, out: counts.keysOut }),
    ),
    counterBy('svc_transfer_bytes_total', 'Bytes of these keys and their objects.', 'direction', () => {
      return { in: counts.bytesIn, out: counts.bytesOut };
    }),
    gaugeOf(
      'svc_transfer_ranges_left',
      'Ranges of the present move, or of the filling of an empty disk, that are not complete.',
      () => progressOf(ringChangeCoordinator, rebuild).rangesLeft,
    ),
    gaugeBy(
      'svc_transfer_waits_for',
      'What the present move waits for: members that do not follow it (or an empty disk: that have not given back what it held), and before leaving transactions and hints.',
      'what',
      () => {
        const { members, transactions, hints } = waitsOf(ringChangeCoordinator, rebuild);
        return { members: members.length, transactions, hints };
      },
    ),
    gaugeOf(
      'svc_ring_change_held_seconds',
      'How long this node has not followed a changed ring, since a transaction holds a key by the one before; 0: it does.',
      () => membership.publication.heldSeconds,
    ),
    counterOf(
      'svc_transfer_keys_dropped_total',
      'Keys that this node has removed, since others own them and hold all that it held.',
      () => cleanup.dropped,
    ),
  ];
}
