/** The options of the node's two stores (objects and hints) from the configuration, and their metrics families. */
import type { LockstepError } from '../base/errors.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { NodeConfig } from '../config/config.ts';
import type { ReadDone } from '../replica/key-slots.ts';
import { decodeHint } from '../replication/hints/hint-codec.ts';
import type { HintOptions, HintStore, Hints } from '../replication/hints/hints.ts';
import type { Io } from '../io/io.ts';
import type { FamilySource } from '../metrics/family.ts';
import { counterBy, counterOf, gaugeOf } from '../metrics/family.ts';
import type { DriverLimits } from '../storage/driver.ts';
import { StoreDriver, driverDefaults } from '../storage/driver.ts';
import { silentObserver } from '../storage/observer.ts';
import type { StoreOptions } from '../storage/options.ts';
import { storeDefaults } from '../storage/options.ts';
import type { Store } from '../storage/store.ts';

const hintSegmentBytesMax = 16 * 1024 * 1024;

/** Options of the object store. */
export function storeOptions(config: NodeConfig): StoreOptions {
  const { sync } = config;
  return {
    ...storeDefaults,
    nodeName: config.name,
    sync: sync.kind === 'always' ? sync : { kind: 'interval', intervalUs: sync.intervalMs * 1000 },
    ...sizesOf(config.storeSegmentBytesMax),
    cacheBytes: config.storeCacheBytesMax,
  };
}

/**
 * Limits of the store driver. The queue's limits bound the writes and reads under way, too: an operator who configures
 * a small queue wants little in memory.
 */
export function driverLimits(config: NodeConfig): DriverLimits {
  const { storeQueueCountMax: queueCountMax, storeQueueBytesMax: queueBytesMax } = config;
  const { storeWritesMax, storeWriteBytesMax, diskReadsMax } = driverDefaults;
  return {
    ...driverDefaults,
    queueCountMax,
    queueBytesMax,
    storeWritesMax: Math.min(storeWritesMax, queueCountMax),
    storeWriteBytesMax: Math.min(storeWriteBytesMax, queueBytesMax),
    diskReadsMax: Math.min(diskReadsMax, queueCountMax),
  };
}

/** Options of the hint store: small segments (16 MiB at most) and no cache. */
export function hintStoreOptions(config: NodeConfig): StoreOptions {
  return {
    ...storeOptions(config),
    ...sizesOf(Math.min(config.storeSegmentBytesMax, hintSegmentBytesMax)),
    cacheBytes: 0,
  };
}

/** A merge copies a few segments at most, however small they are: a disk needs space for no more. */
function sizesOf(segmentBytes: number): Pick<StoreOptions, 'segmentBytes' | 'merge'> {
  const { merge } = storeDefaults;
  return {
    segmentBytes,
    merge: { ...merge, copyBytesMax: Math.min(merge.copyBytesMax, 4 * segmentBytes) },
  };
}

/** Options of hinted handoff. */
export function hintOptions(config: NodeConfig): HintOptions {
  return {
    bytesMax: config.hintBytesMax,
    ageMsMax: config.hintAgeSecondsMax * 1000,
    drainIntervalUs: config.hintDrainIntervalMs * 1000,
    windowMax: 16,
    timeoutUs: config.requestTimeoutMs * 1000,
    unremovedCountMax: 100_000,
  };
}

/**
 * The hint store over `store`, with a driver of its own. A hint of which a newer record may be lost is read as it is:
 * replicas merge it with what they hold. One that is older than the tombstone grace by the wall clock is `Corrupted`:
 * the lost record may be its removal, and a deletion since may have left no trace.
 */
export function hintStoreOf(io: Io, store: Store, config: NodeConfig): HintStore {
  const driver = new StoreDriver(io, store, silentObserver, driverLimits(config));
  const graceMs = config.tombstoneGraceSeconds * 1000;
  const readDoubted = (key: PackedKey, error: LockstepError, done: ReadDone): void => {
    const outcome = driver.tryReadDoubted(key, (_, bytes) => {
      const hint = bytes === undefined ? undefined : decodeHint(bytes);
      const isYoung = hint !== undefined && io.clock.wallMs() - hint.writtenMs <= graceMs;
      if (isYoung) sometimes('hint.doubted-and-read');
      done(isYoung ? undefined : error, isYoung ? bytes : undefined);
    });
    if (outcome !== 'ok') done(error, undefined);
  };
  return {
    tryRead: (key, done) =>
      driver.tryRead(key, (error, bytes) => {
        if (error?.code === 'Corrupted') readDoubted(key, error, done);
        else done(error, bytes);
      }),
    tryWrite: (batch, done) => driver.tryWrite(batch, done),
    keysOfBucket: (prefix) => store.keysOfBucket(prefix),
    keys: () => store.keys(),
    has: (key) => store.tokenOf(key) !== undefined,
    newestKey: () => store.newestKey(),
    liveBytes: () => store.liveBytes,
    keyCount: () => store.keyCount,
    takesWrites: () => store.state === 'open',
    close: () => driver.close(),
  };
}

/** The metrics families of hints: outcomes, and the hints stored now. */
export function hintFamilies(hints: Hints): readonly FamilySource[] {
  return [
    counterBy(
      'svc_hints_total',
      'Writes that a replica missed, by what became of them: stored, delivered, handed_on, expired, dropped.',
      'outcome',
      () => {
        const { stored, delivered, handedOn, expired, dropped } = hints.counts;
        return { stored, delivered, handed_on: handedOn, expired, dropped };
      },
    ),
    gaugeOf('svc_hints_kept', 'Writes kept now for replicas that missed them.', () => hints.kept),
    gaugeOf('svc_hints_kept_bytes', 'Their bytes on disk.', () => hints.keptBytes),
  ];
}

/** The metrics families of the store that the server codec does not have, and the counts of failed tasks and assertions. */
export function storeFamilies(store: Store, io: Io): readonly FamilySource[] {
  return [
    gaugeOf('svc_store_keys', 'Keys in the store, tombstones included.', () => store.keyCount),
    gaugeOf('svc_store_disk_bytes', "Bytes of the store's segments.", () => store.diskBytes),
    gaugeOf(
      'svc_store_live_bytes',
      'Of them, bytes of records that are their keys’ newest.',
      () => store.liveBytes,
    ),
    counterOf(
      'svc_store_flushes_total',
      'Groups of writes that were written and synced together.',
      () => store.flushCount,
    ),
    counterOf('svc_store_merges_total', 'Background merges that have finished.', () => store.mergeCount),
    counterOf(
      'svc_store_damages_total',
      'Places found unreadable since the start.',
      () => store.damages.length,
    ),
    counterOf('svc_task_failures_total', 'Background tasks that failed; anything but 0 is a bug.', () =>
      io.failedTasks(),
    ),
    counterOf(
      'svc_assertions_failed_total',
      'Assertions of the program that failed; anything but 0 is a bug, and ends the node.',
      () => io.failedAssertions(),
    ),
  ];
}
