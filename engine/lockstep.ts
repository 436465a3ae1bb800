/**
 * The engine as a library: `import { Node, createRealIo, defaultConfig } from 'lockstep'`.
 *
 * A node is started over an `Io`: the machine's (`createRealIo`), or one of the caller's own. `node.objects` is the way
 * to its objects without a socket; the listeners serve beside it as far as the configuration has them on. A node counts
 * what its anti-entropy does by itself; who builds the rooms of `aae/` over a store of their own hands them the same
 * `AntiEntropyMetrics`.
 */
export { RepairScheduler } from './aae/repair.ts';
export type { Repair, RepairOutcome } from './aae/repair.ts';
export { Scheduler } from './aae/scheduler.ts';
export type { SchedulerOptions, SchedulerParts } from './aae/scheduler.ts';
export { loadSnapshotWithMetrics, saveSnapshotWithMetrics } from './aae/snapshot.ts';
export type { SnapshotRejection, SnapshotShape } from './aae/snapshot-file.ts';
export { Tree } from './aae/tree.ts';
export { AntiEntropyMetrics } from './stats/anti-entropy-metrics.ts';
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
export { defaultType, objectKey } from './base/object-key.ts';
export type { ObjectKey } from './base/object-key.ts';
export { version } from './base/version.ts';

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
export type { Dot, VersionVector } from './object/dots.ts';
export { decodeContext, encodeContext, liveSiblings } from './object/object.ts';
export type { Sibling, StoredObject } from './object/object.ts';

export type { Io } from './io/io.ts';
