/** What the consistency levels of a plan's settings make a read see, and how late a request may take effect. */

/** An operation, as far as levels are concerned. */
interface Asked {
  /** That of the node which the client asked. */
  readonly datacenter: string;
}

/**
 * How far the configured levels reach. Levels count replicas in the datacenter of the node that the client asked
 * (`engine/docs/guarantees.md`).
 */
export interface LevelReach {
  /** A read meets every acknowledged write of its datacenter: neither level is `DC_ONE`. */
  readonly meets: boolean;
  /** A write is acknowledged once a majority of every datacenter has it. */
  readonly everywhere: boolean;
  /** All replicas are equal before the reads after the calm: these see every acknowledged write. */
  readonly isRepaired: boolean;
  /** How long a node works on a request, in microseconds; its client may give up sooner. */
  readonly requestUsMax: number;
}

/** `request_timeout_ms` of a plan that does not set it. */
const requestMsUsual = 5_000;

/**
 * The reach of a plan's settings. Levels that are not set are `DC_QUORUM`. `isRepaired`: the plan lets all replicas
 * become equal before the reads after the calm.
 */
export function levelReach(settings: Readonly<Record<string, unknown>>, isRepaired = false): LevelReach {
  const { read_consistency: read, write_consistency: write, request_timeout_ms: requestMs } = settings;
  return {
    meets: read !== 'DC_ONE' && write !== 'DC_ONE',
    everywhere: write === 'DC_EACH_SAFE_QUORUM',
    isRepaired,
    requestUsMax: (typeof requestMs === 'number' ? requestMs : requestMsUsual) * 1000,
  };
}

/** Whether a read after the calm must see an acknowledged write. */
export function mustSeeAtLast(reach: LevelReach, write: Asked, read: Asked): boolean {
  return reach.isRepaired || mustSee(reach, write, read);
}

/** Whether a read must see a write that was acknowledged before it began. */
export function mustSee({ meets, everywhere }: LevelReach, write: Asked, read: Asked): boolean {
  return meets && (everywhere || write.datacenter === read.datacenter);
}
