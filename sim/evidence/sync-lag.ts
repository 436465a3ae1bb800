/**
 * How long after its acknowledgement a write may be without a sync: nodes with `sync: N` promise it within N
 * milliseconds, unless their process ends meanwhile.
 */

/** When the durable copies of a write are counted. */
export interface SyncLag {
  /** Microseconds after the acknowledgement; 0 with `sync: always`. */
  readonly us: number;
  /** Number of nodes of which an incarnation ended between two instants of virtual time, both included. */
  endedBetween(fromUs: number, toUs: number): number;
  /**
   * Number of nodes of which an incarnation ended between the first two instants, and that lost power between the first
   * and the third one: a process that dies leaves what it wrote to its successor, which may lose it before its own sync.
   */
  lostBetween(fromUs: number, toUs: number, untilUs: number): number;
}

/** Nodes sync before they acknowledge. */
export const noLag: SyncLag = { us: 0, endedBetween: () => 0, lostBetween: () => 0 };

/** Time that a sync takes in the simulated world without disk faults, with much to spare. */
const syncUsMax = 100_000;

/** Microseconds by which nodes with these settings may sync later than they acknowledge. */
export function syncLagUs(settings: Readonly<Record<string, unknown>>): number {
  const { sync } = settings;
  return typeof sync === 'number' ? sync * 1000 + syncUsMax : 0;
}

/** `lives`: the end of each incarnation, in virtual microseconds. */
export function syncLagOf(
  settings: Readonly<Record<string, unknown>>,
  lives: readonly { readonly node: string; readonly atUs: number; readonly lostUnsynced?: boolean }[],
): SyncLag {
  const us = syncLagUs(settings);
  if (us === 0) return noLag;
  const losses = lives.filter(({ lostUnsynced }) => lostUnsynced === true);
  const nodesBetween = (ends: typeof lives, fromUs: number, toUs: number): ReadonlySet<string> =>
    new Set(ends.filter(({ atUs }) => atUs >= fromUs && atUs <= toUs).map(({ node }) => node));
  return {
    us,
    endedBetween: (fromUs, toUs) => nodesBetween(lives, fromUs, toUs).size,
    lostBetween: (fromUs, toUs, untilUs) => {
      const lost = nodesBetween(losses, fromUs, untilUs);
      return [...nodesBetween(lives, fromUs, toUs)].filter((node) => lost.has(node)).length;
    },
  };
}
