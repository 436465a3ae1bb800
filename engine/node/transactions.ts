/** Composes the node's transactions over its own store, and connects them to membership and to the rebuild. */
import type { ContentLimits } from '../api/content-limits.ts';
import type { TransactionLimits } from '../api/transaction-rules.ts';
import type { NodeId } from '../base/ids.ts';
import type { NodeConfig } from '../config/config.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import type { Io } from '../io/io.ts';
import type { MemberRecord } from '../cluster/membership/member-record.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { NodeStats } from '../metrics/node-stats.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';
import type { TransactionOptions } from '../transactions/context.ts';
import type { Memories } from '../transactions/recovery/lost-disk-state.ts';
import type { Rebuild } from '../cluster/changes/rebuild.ts';
import { Transactions } from '../transactions/transactions.ts';
import { isEmpty } from './tombstone-reaper.ts';
import { transactionBytesMax } from './topology.ts';

interface TransactionStores {
  readonly stats: NodeStats;
  readonly store: Store;
  readonly driver: StoreDriver;
  /** The random id of this incarnation. */
  readonly epoch: string;
}

/** Composes the node's transactions; not yet recovered. Registers their metrics families. */
export function composeTransactions(
  io: Io,
  config: NodeConfig,
  parts: RoundDependencies,
  { stats, store, driver, epoch }: TransactionStores,
  membership: Pick<Membership, 'self' | 'lifeOf' | 'members' | 'isReplaced'>,
  rebuild: () => Pick<Rebuild, 'began' | 'notReadyReason'>,
): Transactions {
  const records = {
    tryRead: driver.tryRead.bind(driver),
    tryWrite: driver.tryWrite.bind(driver),
    keysOfBucket: (prefix: string) => store.keysOfBucket(prefix),
    isSuspicious: () => store.suspicious,
  };
  const members = (): readonly MemberRecord[] =>
    membership.members().filter(({ node }) => !membership.isReplaced(node));
  // A replacement takes over the votes of the node that it replaces (`cluster/changes/replacement-takeover.ts`).
  const speaksFor = (one: MemberRecord, node: NodeId): boolean =>
    one.node === node || (one.replaces === node && one.move === 'switching');
  const lives = {
    own: () => membership.self.generation,
    of: (node: NodeId) => membership.lifeOf(node),
    isOver: (node: NodeId) => membership.lifeOf(node) > 0 && !members().some((one) => speaksFor(one, node)),
    hasLeft: () => membership.self.left,
    isCopying: () =>
      members().some(
        ({ state, move, replaces }) => move === 'copying' && (state === 'LEAVING' || replaces === undefined),
      ),
  };
  const memories = (): ReturnType<Memories> => {
    const { began, notReadyReason } = rebuild();
    // An earlier incarnation may have heard a member that is known from the configuration alone (generation 0). That is
    // not recorded, so such a member counts as heard, unless this incarnation started on an empty disk.
    const heard = members()
      .filter(({ generation }) => generation > 0 || !began)
      .map(({ node }) => node);
    return { holds: !isEmpty(store), whole: notReadyReason === undefined, heard };
  };
  const transactions = new Transactions(io, parts, records, optionsOf(config), epoch, lives, memories);
  for (const family of transactions.families()) stats.register(family);
  return transactions;
}

/** Limits of a client's transaction. A branch must fit into one peer message. */
export function transactionLimits(
  config: NodeConfig,
  content: ContentLimits,
  knowsType: TransactionLimits['knowsType'],
): TransactionLimits {
  const bytesMax = transactionBytesMax(config);
  return { operationCountMax: config.transactionOperationsMax, bytesMax, content, knowsType };
}

function optionsOf(config: NodeConfig): TransactionOptions {
  return {
    inquiryIntervalUs: config.transactionInquiryMs * 1000,
    readWaitUs: config.transactionReadWaitMs * 1000,
    retentionMs: config.transactionRetentionSeconds * 1000,
    rememberedMax: config.transactionRememberedMax,
    pageBytes: config.peerPageBytes,
    pageItems: config.peerPageItems,
  };
}
