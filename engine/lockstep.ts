/**
 * The engine as a library: `import { Node, createRealIo, defaultConfig } from 'lockstep'`.
 *
 * A node is started over an `Io`: the machine's (`createRealIo`), or one of the caller's own. `node.objects` is the way
 * to its objects without a socket; the listeners serve beside it as far as the configuration has them on. A node counts
 * why requests fail and what its anti-entropy does by itself. An embedder counts along with a `FailureMetrics` of their
 * own, and runs anti-entropy over a store of their own with `Scheduler`, `RepairScheduler` and `AntiEntropyMetrics`
 * (engine/docs/embedding.md).
 */
/// <reference types="node" preserve="true" />

export { Answerer } from './aae/answerer.ts';
export type { Suspect } from './aae/diff.ts';
export { ExchangePeer } from './aae/exchange-peer.ts';
export type { PeerIdentity } from './aae/exchange-peer.ts';
export { Refresh } from './aae/refresh.ts';
export { RepairScheduler } from './aae/repair.ts';
export type { LocalReplica, Repair, RepairOutcome } from './aae/repair.ts';
export { Scheduler } from './aae/scheduler.ts';
export type { ExchangeOutcome, PeerRecord, SchedulerOptions, SchedulerParts } from './aae/scheduler.ts';
export { Throttle } from './aae/throttle.ts';
export { decodeQuestion, encodeAnswer } from './aae/words.ts';
export type { Answer, Question } from './aae/words.ts';
export { loadSnapshotWithMetrics, saveSnapshotWithMetrics } from './aae/snapshot.ts';
export type { SnapshotRejection, SnapshotShape } from './aae/snapshot-file.ts';
export { Tree, wholeRing } from './aae/tree.ts';
export type { TokenRange } from './aae/tree.ts';
export { AntiEntropyMetrics } from './stats/anti-entropy-metrics.ts';
export { FailureMetrics } from './stats/failure-metrics.ts';
export type { Family, FamilySource, Sample } from './stats/family.ts';
export { driverDefaults, StoreDriver } from './store/driver.ts';
export type { DriverLimits } from './store/driver.ts';
export { silentObserver as silentStoreObserver } from './store/observer.ts';
export type { StoreObserver } from './store/observer.ts';
export { storeDefaults } from './store/options.ts';
export { Store } from './store/store.ts';

export { createRealIo } from './real/io.ts';
export type { RealIoOptions } from './real/io.ts';
export { TlsIdentity } from './real/tls.ts';
export type { TlsMaterial } from './real/tls.ts';
export { Node } from './node.ts';
export type { NodeAddresses, NodeSecrets } from './node.ts';

export { defaultConfig, parseConfig } from './config/config.ts';
export type { NodeConfig } from './config/config.ts';

export { digestOf, parseCredentials } from './auth/credentials.ts';
export type { Credential } from './auth/credentials.ts';
export { LockstepError, errorTable } from './base/errors.ts';
export type { ErrorCode } from './base/errors.ts';
export { byteStringFrom, byteStringOf, bytesOf, parseNodeId, textOf } from './base/ids.ts';
export type { ByteString, NodeId, Token } from './base/ids.ts';
export type { SendOutcome } from './base/channel.ts';
export { defaultType, objectKey } from './base/object-key.ts';
export type { ObjectKey, PackedKey } from './base/object-key.ts';
export { version } from './base/version.ts';

export { ClusterDispatcher } from './dispatch/cluster-dispatcher.ts';
export type { PeerLinks, ReplyHandler } from './dispatch/peer-links.ts';
export { Replica } from './dispatch/replica.ts';
export type { ConflictRules, LocalWrite, WriteListener } from './dispatch/replica.ts';
export { GossipHandler } from './membership/gossip-handler.ts';
export type { PeerState } from './membership/states.ts';
export { routeToken } from './ring/token.ts';
export type { PeerReply, PeerRequest } from './wire/messages.ts';
export type {
  ConsistencyLevel,
  Dispatcher,
  GetRequest,
  GetResult,
  Need,
  RaisedLevel,
  ReadNeed,
  PutRequest,
  PutResult,
  WriteNeed,
} from './dispatch/requests.ts';
export { plainContent, tombstone } from './object/content.ts';
export type { Content, Link } from './object/content.ts';
export { emptyVector } from './object/dots.ts';
export type { Actor, Dot, VersionVector } from './object/dots.ts';
export { decodeContext, encodeContext, liveSiblings } from './object/object.ts';
export type { Sibling, StoredObject } from './object/object.ts';

export type { Io } from './io/io.ts';
