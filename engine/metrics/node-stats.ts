/**
 * Holds everything that one node counts. Modules increment its plain fields where events occur. Values that can only be
 * read (queue lengths, free lists) come from providers, which are called once per publication. This module does not
 * know how values are published.
 *
 * A published gauge of the pool or the server is its live field plus the sum of its providers. A module may use either
 * form, and several listeners can share one gauge.
 */
import { AntiEntropyMetrics } from './anti-entropy-metrics.ts';
import { FailureMetrics } from './failure-metrics.ts';
import type { FamilySource } from './family.ts';
import { counterBy } from './family.ts';
import type { HistogramName } from './histogram-table.ts';
import { HISTOGRAMS } from './histogram-table.ts';
import { NativeHistogram } from './native-histogram.ts';
import type { PoolField, PoolGaugeField, ServerField, ServerGaugeField } from './fixed-fields.ts';
import { newPoolStats, newServerStats } from './fixed-fields.ts';
import { RollingHistogram } from './rolling-histogram.ts';

/** A free list of reusable objects, as the statistics read it. */
export interface FreeListReading {
  /** Objects that exist now, in use or free (as in the original). */
  allocated(): number;
  /** Objects kept for reuse now. */
  free(): number;
}

/** Background repairs of stale replicas that reads detected, by stage. */
export interface ReadRepairCounts {
  started: number;
  done: number;
  failed: number;
}

/** Reads at a SAFE level that found differing copies, by outcome. */
export interface ReadDisagreementCounts {
  /** After the repair enough copies were equal, and the client got its answer. */
  answered: number;
  /** The copies still differed, and the client was refused. */
  refused: number;
  /** After the repair too few replicas answered in time. */
  failed: number;
}

type Read = () => number;

/** Several gauges of the pool, read together. */
export type PoolReadings = Readonly<Partial<Record<PoolGaugeField, number>>>;

/** The statistics of one node. Histograms are in the unit of their name's ending; queue histograms count requests. */
export class NodeStats implements Record<HistogramName, RollingHistogram> {
  readonly pool = newPoolStats();
  readonly server = newServerStats();

  readonly requestLatencyUs = new RollingHistogram();
  readonly payloadBytes = new RollingHistogram();
  readonly crossRegionLatencyUs = new RollingHistogram();
  readonly crossZoneLatencyUs = new RollingHistogram();
  readonly serverLatencyUs = new RollingHistogram();
  readonly crossRegionQueueWaitUs = new RollingHistogram();
  readonly crossZoneQueueWaitUs = new RollingHistogram();
  readonly serverQueueWaitUs = new RollingHistogram();
  /** Queue lengths, recorded by the module that enqueues, right after it enqueued. */
  readonly clientOutQueue = new RollingHistogram();
  readonly serverInQueue = new RollingHistogram();
  readonly serverOutQueue = new RollingHistogram();
  readonly dnodeClientOutQueue = new RollingHistogram();
  readonly peerInQueue = new RollingHistogram();
  readonly peerOutQueue = new RollingHistogram();
  readonly remotePeerInQueue = new RollingHistogram();
  readonly remotePeerOutQueue = new RollingHistogram();

  /** Client requests by protocol and operation, in Prometheus's own form. */
  readonly requestDurations = new NativeHistogram({
    name: 'svc_request_duration_seconds',
    help: 'Seconds from the arrival of a request for objects to its answer, by protocol and operation.',
    labels: ['protocol', 'operation'],
  });
  /** Flushes of the store's log. */
  readonly flushDurations = new NativeHistogram({
    name: 'svc_store_flush_duration_seconds',
    help: 'Seconds in which a group of writes was written and, with sync: always, synced.',
    labels: [],
  }).begin();

  readonly failures = new FailureMetrics();
  readonly antiEntropy = new AntiEntropyMetrics();
  readonly readRepairs: ReadRepairCounts = { started: 0, done: 0, failed: 0 };
  readonly readDisagreements: ReadDisagreementCounts = { answered: 0, refused: 0, failed: 0 };

  readonly #poolGauges = new Map<PoolField, Read[]>();
  readonly #poolReadings: (() => PoolReadings)[] = [];
  readonly #serverGauges = new Map<ServerField, Read[]>();
  readonly #messagePools: FreeListReading[] = [];
  readonly #chunkPools: FreeListReading[] = [];
  readonly #families: FamilySource[] = [];

  constructor() {
    this.register(this.requestDurations);
    this.register(this.flushDurations);
    this.register(
      counterBy(
        'svc_read_repairs_total',
        'Repairs of stale replicas that reads have noticed, by stage: started, done, failed.',
        'stage',
        () => ({ ...this.readRepairs }),
      ),
    );
    this.register(
      counterBy(
        'svc_read_disagreements_total',
        'Reads at a SAFE level that found copies that differ, by how they ended: answered after a repair, refused, failed.',
        'outcome',
        () => ({ ...this.readDisagreements }),
      ),
    );
  }

  /** Registered families, in order of registration. They are not part of the legacy JSON. */
  get families(): readonly FamilySource[] {
    return this.#families;
  }

  /** Registers a family of a module; its name must be new. */
  register(family: FamilySource): void {
    this.#families.push(family);
  }

  /** Adds a provider to a gauge of the pool. */
  providePoolGauge(field: PoolGaugeField, read: () => number): void {
    provide(this.#poolGauges, field, read);
  }

  /** Adds one provider for several gauges of the pool; it is called once per publication. */
  providePoolReadings(read: () => PoolReadings): void {
    this.#poolReadings.push(read);
  }

  /** Adds a provider to a gauge of the server. */
  provideServerGauge(field: ServerGaugeField, read: () => number): void {
    provide(this.#serverGauges, field, read);
  }

  /** Adds a free list of message structs (`svc_alloc_msgs`, `svc_free_msgs`). */
  provideMessagePool(pool: FreeListReading): void {
    this.#messagePools.push(pool);
  }

  /** Adds a free list of buffer chunks (`svc_alloc_mbufs`, `svc_free_mbufs`). */
  provideChunkPool(pool: FreeListReading): void {
    this.#chunkPools.push(pool);
  }

  /** The values to publish for these fields of the pool, in the same order. */
  readPool(fields: readonly PoolField[]): readonly number[] {
    const readings = this.#poolReadings.map((read): Partial<Record<PoolField, number>> => read());
    return fields.map((field) => {
      const read = readings.reduce((sum, reading) => sum + (reading[field] ?? 0), 0);
      return this.pool[field] + total(this.#poolGauges.get(field)) + read;
    });
  }

  /** The value to publish for a field of the server. */
  readServer(field: ServerField): number {
    return this.server[field] + total(this.#serverGauges.get(field));
  }

  /** Totals over all free lists of message structs. */
  readMessages(): { allocated: number; free: number } {
    return readPools(this.#messagePools);
  }

  /** Totals over all free lists of buffer chunks. */
  readChunks(): { allocated: number; free: number } {
    return readPools(this.#chunkPools);
  }

  /** Makes every histogram drop the values before its last turn (`rolling-histogram.ts`). */
  turnHistograms(): void {
    for (const { field } of HISTOGRAMS) this[field].turn();
  }
}

function provide<Field>(gauges: Map<Field, Read[]>, field: Field, read: Read): void {
  const known = gauges.get(field);
  if (known === undefined) gauges.set(field, [read]);
  else known.push(read);
}

function total(reads: readonly Read[] | undefined): number {
  return reads === undefined ? 0 : reads.reduce((sum, read) => sum + read(), 0);
}

function readPools(pools: readonly FreeListReading[]): { allocated: number; free: number } {
  let allocated = 0;
  let free = 0;
  for (const pool of pools) {
    allocated += pool.allocated();
    free += pool.free();
  }
  return { allocated, free };
}
