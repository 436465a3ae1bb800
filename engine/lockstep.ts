/**
 * The engine as a library: `import { Node, createRealIo, defaultConfig } from 'lockstep'`.
 *
 * The embedder starts a node over an `Io`: the machine's (`createRealIo`), or one of its own. `node.objects` reads and
 * writes objects without a socket. The listeners that the configuration has on serve clients beside it. A node counts
 * the causes of failed requests and the work of its anti-entropy. An embedder may count the causes in a
 * `FailureMetrics` of its own, too, and may run anti-entropy over a store of its own with `Scheduler`,
 * `RepairScheduler` and `AntiEntropyMetrics` (`engine/docs/embedding.md`).
 */
/// <reference types="node" preserve="true" />

export { Answerer } from './anti-entropy/answerer.ts';
export type { Suspect } from './anti-entropy/diff.ts';
export { ExchangePeer } from './anti-entropy/exchange-peer.ts';
export type { PeerIdentity } from './anti-entropy/exchange-peer.ts';
export { Refresh } from './anti-entropy/refresh.ts';
export { RepairScheduler } from './anti-entropy/repair.ts';
export type { LocalReplica, Repair, RepairOutcome } from './anti-entropy/repair.ts';
export { Scheduler } from './anti-entropy/scheduler.ts';
export type {
  ExchangeOutcome,
  PeerRecord,
  SchedulerOptions,
  SchedulerParts,
} from './anti-entropy/scheduler.ts';
export { Throttle } from './anti-entropy/throttle.ts';
export { decodeQuestion, encodeAnswer } from './anti-entropy/messages.ts';
export type { Answer, Question } from './anti-entropy/messages.ts';
export { loadSnapshotWithMetrics, saveSnapshotWithMetrics } from './anti-entropy/snapshot.ts';
export type { SnapshotRejection, SnapshotShape } from './anti-entropy/snapshot-file.ts';
export { Tree, wholeRing } from './anti-entropy/tree.ts';
export type { TokenRange } from './anti-entropy/tree.ts';
export { AntiEntropyMetrics } from './metrics/anti-entropy-metrics.ts';
export { FailureMetrics } from './metrics/failure-metrics.ts';
export type { Family, FamilySource, Sample } from './metrics/family.ts';
export { driverDefaults, StoreDriver } from './storage/driver.ts';
export type { DriverLimits } from './storage/driver.ts';
export { silentObserver as silentStoreObserver } from './storage/observer.ts';
export type { StoreObserver } from './storage/observer.ts';
export { storeDefaults } from './storage/options.ts';
export { Store } from './storage/store.ts';

export { createRealIo } from './real/io.ts';
export type { RealIoOptions } from './real/io.ts';
export { TlsIdentity } from './real/tls.ts';
export type { TlsMaterial } from './real/tls.ts';
export { Node } from './node/node.ts';
export type { NodeAddresses, NodeSecrets } from './node/node.ts';

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

export { ClusterDispatcher } from './replication/cluster-dispatcher.ts';
export type { PeerLinks, ReplyHandler } from './replication/peer-links.ts';
export { Replica } from './replica/replica.ts';
export type { ConflictRules, LocalWrite, WriteListener } from './replica/replica.ts';
export { GossipHandler } from './cluster/membership/gossip-handler.ts';
export type { PeerState } from './cluster/membership/states.ts';
export { routeToken } from './cluster/ring/token.ts';
export type { PeerReply, PeerRequest } from './peer/wire/messages.ts';
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
} from './replication/requests.ts';
export { plainContent, tombstone } from './replica/object/content.ts';
export type { Content, Link } from './replica/object/content.ts';
export { emptyVector } from './replica/object/dots.ts';
export type { Actor, Dot, VersionVector } from './replica/object/dots.ts';
export { decodeContext, encodeContext, liveSiblings } from './replica/object/object.ts';
export type { Sibling, StoredObject } from './replica/object/object.ts';

export type { Io } from './io/io.ts';
