/**
 * Rare branches that tests should reach sometimes: each stands at one place of the engine as a call of `sometimes`. Only a
 * test listens: the simulator's coverage shows which were reached. In production a call costs one comparison.
 *
 * A name is added here and at its place; a test finds every name at exactly one place. As assertions do, sites belong to
 * the process, since pure functions have no ports.
 */

/** What happens at each site, as a clause. Ordered by subject, then by name. */
export const rareBranches = {
  'anti-entropy.both-begin': 'two nodes begin an exchange with each other at once',
  'anti-entropy.clock-ambiguous': 'causality cannot decide which of two objects is newer',
  'anti-entropy.exchange-orphaned': 'a peer that began an exchange is gone: another peer may begin one',
  'anti-entropy.list-cut': 'the keys of a segment do not fit into one answer of an exchange',
  'anti-entropy.repair-refused': 'the peer of an exchange does not take a repair',
  'anti-entropy.ring-changed': 'an exchange ends because the ranges of its two nodes have changed',
  'anti-entropy.snapshot-ahead': 'a snapshot is ahead of the store and is dropped',
  'anti-entropy.snapshot-rejected': 'a snapshot of the hash tree is rejected',
  'anti-entropy.sweep-failed': 'a sweep cannot read the store',
  'cleanup.key-kept': 'a key that this node does not own stays because an owner did not take it',
  'cleanup.key-written': 'a key is written or owned again before the cleanup removes it',
  'handover.awaited': 'a primary waits for the former primary of a key',
  'hint.adopted': 'a node stores a hint that a leaving node hands over',
  'hint.doubted-and-read': 'a hint is delivered although a newer record of it may be lost',
  'hint.expired': 'a hint is too old to be delivered',
  'hint.flushed': 'a hint is given up because its bucket was flushed',
  'hint.limit-reached': 'a hint is dropped because the limit of stored hints is reached',
  'hint.merged-with-stored': 'a second write that a replica missed joins the stored hint',
  'hint.of-former-member': 'hints of a node that is not a member go to the owners of their keys',
  'hint.overtaken': 'a write is added to a hint that is being delivered',
  'hint.removal-repeated': 'the store could not remove a hint that has ended, and is asked again',
  'hint.unreadable': 'a stored hint cannot be read, and is given up',
  'hint.unremoved-limit-reached': 'too many hints have ended and cannot be removed: no more are delivered',
  'idempotency.fence-finds-earlier': 'a fence finds that an earlier attempt was applied',
  'idempotency.fence-open': 'a fence ends without a majority: the client hears in doubt',
  'idempotency.fence-over-dead-primary': 'a fence passes over the claim of a primary that is gone for good',
  'idempotency.fence-repeated': 'an attempt in doubt is fenced again',
  'idempotency.page-cut': 'the idempotency keys of a range do not fit into one message to a new owner',
  'membership.accepted-again': 'a peer accepts a node that another one refused',
  'membership.disowned': 'a peer refuses this node as no member',
  'membership.file-missing': 'a start does not find the member file that the store knows of',
  'membership.file-rejected': 'a start finds a member file that it cannot read',
  'membership.identity-raised': 'a node learns that a peer knows a later incarnation of it',
  'membership.record-refused': 'gossip brings a record that this node refuses',
  'peer.answers-not-read': 'a connection ends because the peer does not read its answers',
  'peer.expired-unsent': 'a request to a peer expires before it was sent',
  'peer.inbound-overloaded': 'a peer sends more requests than this node handles at once',
  'peer.late-reply': 'a reply arrives whose request is over',
  'flush.keys-removed': 'a node removes keys of a former epoch of a flushed bucket',
  'flush.walk-put-off': 'the removal of flushed keys waits for a write of a former epoch',
  'flush.later-epoch': 'a flush begins again because a member knows a later epoch of the bucket',
  'properties.fetch-refused': 'a node that lacks property records itself is asked for them',
  'properties.records-lost': 'a start has lost its property records and asks its peers',
  'properties.routing-restored': 'a change of a bucket’s key function is taken back',
  'properties.save-failed': 'the disk does not take changed properties',
  'read.again-after-flush': 'a read begins again because its bucket was flushed meanwhile',
  'read.corrupt-copy-repaired': 'a read repairs a replica that cannot read its own copy',
  'read.deadline-passed': 'a read’s deadline passes before enough replicas have answered',
  'read.failed-over': 'a read asks the replicas that it held back, because the others are silent',
  'read.given-up-for-others': 'a large read ends its repair because another read waits for memory',
  'read.batch-hedged': 'reads of a batch ask further replicas, because those asked at first are silent',
  'read.hedged': 'a read asks further replicas, because those asked at first are silent',
  'read.left-batch': 'a read of a batch goes on by itself, since a replica failed, or holds another object',
  'read.memory-awaited': 'a read of a large object waits for memory that other reads hold',
  'read.memory-never-came': 'a read’s deadline passes while it waits for memory',
  'read.repair-failed': 'a stale replica does not take a read’s repair',
  'read.replicas-disagree': 'enough replicas have answered a read and too few of them agree',
  'rebuild.began': 'a node begins to read back what its lost disk held',
  'rebuild.no-owner-answers': 'a rebuild waits because no owner has answered',
  'rebuild.source-failed': 'a rebuild cannot read a range from its source',
  'recovery.branch-prepared': 'a start finds a prepared branch and locks its keys again',
  'recovery.decision-taken-up': 'a start takes up a decision that has unacknowledged branches',
  'recovery.hint-file-ignored': 'a start finds a hint file that it cannot use',
  'recovery.key-damaged': 'a start finds a record whose value is damaged',
  'recovery.manifest-repaired': 'a start repairs a damaged manifest',
  'recovery.record-damaged': 'a start finds a damaged transaction record',
  'recovery.record-unread': 'the disk fails to give a transaction record at a start',
  'recovery.segment-missing': 'a start does not find a segment that the manifest lists',
  'recovery.tail-cut': 'a start cuts a torn batch from the end of the log',
  'recovery.unlisted-removed': 'a start removes a file that the manifest does not list',
  'recovery.unlisted-set-aside': 'a start keeps an unlisted segment because a listed one is missing',
  'ring-change.continued-after-restart': 'a start continues the ring change of the last incarnation',
  'ring-change.disk-refuses-step': 'the disk does not take a step of a ring change',
  'ring-change.drain-abandoned':
    'a leaving node gives up waiting for its transactions, hints and bucket properties',
  'replica.former-epoch-refused': 'a replica refuses a key whose bucket was flushed since',
  'replica.lost-key-fetched': 'a key that is written over a lost copy is fetched from the other replicas',
  'replica.later-epoch-learnt': 'a replica learns that a bucket was flushed from the key of a request',
  'ring-change.joins-without-a-link': 'a joining node begins although a member has no link to it yet',
  'ring-change.lets-replacement-go-first':
    'a join or a leave waits, since another member is to replace a dead one',
  'ring-change.lost-records-fetched':
    'a node fetches records that it has lost before it hands over their range',
  'ring-change.range-failed': 'a range cannot be moved and is tried again',
  'ring-change.replaced-node-returns': 'a replacement waits because the node that it replaces is reachable',
  'ring-change.stepped-back': 'a ring change steps back before another node’s',
  'ring-change.takeover-waits': 'a replacement waits for transactions of the node that it replaces',
  'store.flush-behind-failed': 'a flush lands behind one that failed',
  'store.flush-failed': 'a flush fails, and those in flight behind it are not acknowledged',
  'store.housekeeping-failed': 'the disk fails a merge or a hint file',
  'store.interval-sync-failed': 'the periodic sync of the store fails',
  'store.manifest-failed-at-rotation': 'the disk refuses the manifest of a new segment',
  'store.merge-for-lack-of-space': 'a merge of several segments does not fit, so one is merged at a time',
  'store.merge-refused': 'a merge finds an input damaged and omits it',
  'store.merge-stopped': 'a merge is given up because the store closes',
  'store.request-refused': 'the store’s queue is full or closed',
  'store.space-found': 'a store whose disk was full finds space again',
  'store.value-lost': 'a read finds that the only copy of a value here is damaged',
  'store.value-moved-during-read': 'a merge moves a record while it is being read',
  'store.write-answered-late': 'the store answers a write that was counted as timed out',
  'tombstone.already-forgotten': 'a replica has removed the same tombstone before',
  'tombstone.changed-before-removal':
    'a key is written between the agreement on its tombstone and the removal',
  'tombstone.kept-for-hint': 'a tombstone stays because a hint for its key is stored',
  'tombstone.stored-again':
    'a removed tombstone is stored again because a node still sends what it had replaced',
  'transaction.answered-before-its-level':
    'the time of a request is up while its write is durable here, and other replicas are still to answer',
  'transaction.answered-before-its-write':
    'the time of a request is up before its write is durable at the node that carries it out',
  'transaction.attempted-again':
    'a primary refused what its coordinator took for possible; a further attempt follows',
  'transaction.batch-adopted': 'a next primary takes the batch of a transaction from a former one',
  'transaction.branch-lost': 'a committed branch cannot be completed any more',
  'transaction.branch-redone': 'a branch lost its record with its disk and is asked to apply again',
  'transaction.cleanup-waits-for-lost-log': 'a coordinator keeps branches whose decision it may have lost',
  'transaction.commit-before-prepared': 'a commit arrives while the branch is not prepared',
  'transaction.commit-repeated': 'a commit without an acknowledgement is sent again',
  'transaction.commit-without-record': 'a commit arrives at a node that has no record of the branch',
  'transaction.coordinator-forgot': 'a branch asks of a transaction that its coordinator lost with its disk',
  'transaction.decision-doubtful': 'the disk may or may not have taken a decision to commit',
  'transaction.decision-refused': 'the disk certainly did not take a decision to commit',
  'transaction.earlier-incarnation-refused':
    'a one-phase request was made for an earlier incarnation of its primary',
  'transaction.forget-postponed': 'a branch stays because other nodes lack its idempotency key',
  'transaction.late-abort-fenced':
    'an attempt aborts after its client has heard in doubt, and its idempotency key is fenced',
  'transaction.lock-conflict': 'a key of a prepare request is locked by another transaction',
  'transaction.orphan': 'a branch learns that its coordinator lost the transaction',
  'transaction.orphans-let-go': 'applied branches of a coordinator that is not a member are released',
  'transaction.other-branches-asked': 'a branch asks the other branches because its coordinator is silent',
  'transaction.owner-joined-amid-put':
    'a single put reaches members that begin to take its key over while it becomes durable',
  'transaction.owner-joined-meanwhile':
    'members begin to take keys over while a transaction’s batch on them is being written',
  'transaction.part-handed-to-replacement':
    'a replacement gets the dead node’s part of a committed transaction',
  'transaction.presumed-abort': 'a branch asks of a transaction of which the coordinator has no record',
  'transaction.redo-after-rollback': 'a redo arrives at an incarnation that has rolled the branch back',
  'transaction.redo-already-applied': 'a redo finds that the other replicas have restored all of the branch',
  'transaction.redo-while-rebuilding': 'a redo is asked of a node that is still being rebuilt',
  'transaction.replacement-redoes':
    'a replacement is asked to apply a branch whose keys have another primary',
  'transaction.rollback-of-unknown': 'a rollback arrives at a node that never heard of the branch',
  'transaction.single-reply-lost': 'the reply of a one-phase transaction’s primary was lost',
  'transaction.terminated-by-branches': 'another branch’s answer ends a branch whose coordinator is silent',
  'transaction.waits-for-lock-on-disk': 'a prepare waits for a lock whose holder only waits for the disk',
  'view.agreement-timed-out': 'a request ends because two nodes do not agree on the ring in time',
  'view.publication-held': 'a new ring view is held back by transactions under the old ring',
  'view.save-failed': 'the disk does not take a new ring view',
  'write.again-after-flush': 'a SET begins again because its bucket was flushed meanwhile',
  'write.deadline-passed': 'a write’s deadline passes before enough replicas have answered',
  'write.forwarded-twice': 'a write that another node forwarded comes once more',
  'write.left-batch': 'a write of a batch goes on by itself, since a replica failed, or holds another value',
  'write.local-disk-failed': 'this node’s disk fails a write that other replicas have been sent',
  'write.owner-joined-meanwhile': 'members begin to take a key over while its write is under way',
  'write.put-again-after-flush': 'a put begins again because its bucket was flushed meanwhile',
} as const;

/** The name of a site. */
export type RareBranch = keyof typeof rareBranches;

type Listener = (name: RareBranch) => void;

/** The listeners of this process. */
class Listeners {
  #listeners: readonly Listener[] = [];
  /** Undefined while there is none, so that a site costs one comparison. */
  current: Listener | undefined;

  add(listener: Listener): () => void {
    this.#set([...this.#listeners, listener]);
    return () => this.#set(this.#listeners.filter((other) => other !== listener));
  }

  #set(listeners: readonly Listener[]): void {
    this.#listeners = listeners;
    this.current = listeners.length === 0 ? undefined : (name) => this.#tell(name);
  }

  #tell(name: RareBranch): void {
    for (const listener of this.#listeners) listener(name);
  }
}

const listeners = new Listeners();

/** Notes that the engine has taken a rare branch. Changes nothing. */
export function sometimes(name: RareBranch): void {
  listeners.current?.(name);
}

/** Calls `listener` with every site that code of this process reaches. Returns a function that removes it. */
export function onRareBranch(listener: Listener): () => void {
  return listeners.add(listener);
}
