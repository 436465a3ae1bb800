/**
 * How the world behaves without faults: latencies, windows, and the small disturbances (short reads, split deliveries)
 * that every run contains. All of it is data, so that a plan can carry what differs.
 */
import type { Latency } from './latency.ts';

/** The network without faults. */
export interface NetworkTuning {
  /** One way, between two hosts. */
  readonly latency: Latency;
  /** Within one host. */
  readonly loopback: Latency;
  /** Bytes that leave a connection per microsecond (125: one gigabit per second). */
  readonly bytesPerUs: number;
  /** Bytes of one direction that may be under way or unread. */
  readonly windowBytes: number;
  /** `write` returns false from this many pending bytes on. */
  readonly highWaterBytes: number;
  /** One in so many deliveries is cut into pieces; 0 for never. */
  readonly splitOneIn: number;
  /** How long a side waits for an acknowledgement before it gives up the connection: drawn from least..most. */
  readonly retransmissionUs: readonly [least: number, most: number];
  /** After a partition heals, what stalled passes within this time (retransmission backs off). */
  readonly backOffUsMax: number;
}

/** The disks without faults. */
export interface DiskTuning {
  readonly readLatency: Latency;
  readonly writeLatency: Latency;
  readonly syncLatency: Latency;
  /** Opening, renaming, listing and the like. */
  readonly nameLatency: Latency;
  /** One in so many reads or writes moves fewer bytes than asked; 0 for never. */
  readonly shortOneIn: number;
}

/** The world without faults. */
export interface Tuning {
  readonly network: NetworkTuning;
  readonly disk: DiskTuning;
}

/** What a caller wants to differ from the default. */
export interface TuningChange {
  readonly network?: Partial<NetworkTuning>;
  readonly disk?: Partial<DiskTuning>;
}

/** A local network of one gigabit per second, and solid-state disks. */
export const defaultTuning: Tuning = {
  network: {
    latency: { minUs: 80, meanUs: 220, tailOneIn: 2000, tailUs: 20_000 },
    loopback: { minUs: 15, meanUs: 10, tailOneIn: 0, tailUs: 0 },
    bytesPerUs: 125,
    windowBytes: 256 * 1024,
    highWaterBytes: 64 * 1024,
    splitOneIn: 64,
    retransmissionUs: [15_000_000, 60_000_000],
    backOffUsMax: 1_000_000,
  },
  disk: {
    readLatency: { minUs: 40, meanUs: 40, tailOneIn: 4000, tailUs: 10_000 },
    writeLatency: { minUs: 10, meanUs: 10, tailOneIn: 4000, tailUs: 10_000 },
    syncLatency: { minUs: 300, meanUs: 400, tailOneIn: 1000, tailUs: 30_000 },
    nameLatency: { minUs: 20, meanUs: 30, tailOneIn: 0, tailUs: 0 },
    shortOneIn: 256,
  },
};

/** The default tuning with the changes applied. */
export function tune(change: TuningChange = {}): Tuning {
  return {
    network: { ...defaultTuning.network, ...change.network },
    disk: { ...defaultTuning.disk, ...change.disk },
  };
}
