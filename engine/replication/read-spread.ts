/**
 * Decides which replicas a read asks at first. A read that needs an answer from two of three replicas asks two of them:
 * this node, if it is a replica, and others in turn. The rest are asked once those asked differ, fail, or are silent for
 * `hedgeUs`.
 *
 * A share of the reads asks every replica at once, so that read repair finds stale copies that no quorum notices. So do
 * all reads of a replica that was silent a moment ago: they do not wait for it.
 *
 * Source: Dean and Barroso, "The Tail at Scale", 2013, hedged requests.
 */
import type { NodeId } from '../base/ids.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { DispatchPlan } from './plan.ts';

/** The settings `read_hedge_ms` and `read_repair_percent`. */
export interface ReadSpreadSettings {
  /** How long a read waits for the replicas that it asked at first; 0: every read asks all replicas at once. */
  readonly hedgeMs: number;
  /** Of a hundred reads, how many ask all replicas at once. */
  readonly repairPercent: number;
}

/** How long a replica counts as silent after a read has waited for it in vain. */
const silentUs = 1_000_000;

/**
 * Reads, or batches of reads, of one turn. Reads that come together so go to one replica, in one write to its socket: that
 * is what messages cost most.
 */
const turnReads = 64;

/** A turn in which all replicas are asked. */
const everyReplica = -1;

/** All targets of a plan: bit n stands for target n. At most 30 targets. */
export function everyTarget({ targets }: DispatchPlan): number {
  return (1 << targets.length) - 1;
}

/** The choices of one node. */
export class ReadSpread {
  readonly #self: Member;
  /** Microseconds; see `ReadSpreadSettings`. */
  readonly hedgeUs: number;
  readonly #repairPercent: number;
  #reads = 0;
  /** Percent of a read that asks all replicas. */
  #due = 0;
  /** Replicas that were silent, and until when they count as such (monotonic microseconds). */
  readonly #silent = new Map<NodeId, number>();

  constructor(self: Member, { hedgeMs, repairPercent }: ReadSpreadSettings) {
    this.#self = self;
    this.hedgeUs = hedgeMs * 1000;
    this.#repairPercent = hedgeMs === 0 ? 100 : repairPercent;
  }

  /** The turn of a read, or of the reads of one batch, which prefer the same replicas. */
  turn(): number {
    this.#due += this.#repairPercent;
    if (this.#due >= 100) {
      this.#due -= 100;
      return everyReplica;
    }
    this.#reads = (this.#reads + 1) % 0x1000000;
    return Math.floor(this.#reads / turnReads);
  }

  /**
   * The targets of a plan of one datacenter that are asked at first: bit n stands for target n. At most 30 targets;
   * `nowUs` is the monotonic time.
   */
  first(plan: DispatchPlan, turn: number, nowUs: number): number {
    const all = everyTarget(plan);
    const { targets, groups } = plan;
    const needed = groups[0]?.needed ?? 0;
    if (turn === everyReplica || needed >= targets.length || this.#isAnySilent(targets, nowUs)) return all;
    let chosen = 0;
    let left = needed;
    const own = targets.findIndex(({ member }) => member === this.#self);
    if (own >= 0) {
      chosen = 1 << own;
      left -= 1;
    }
    const others = own >= 0 ? targets.length - 1 : targets.length;
    for (let index = 0; index < targets.length; index++) {
      if (index !== own && (this.#rank(targets, index) + turn) % others < left) chosen |= 1 << index;
    }
    return chosen;
  }

  /** A read has waited `hedgeUs` for the member's answer. */
  noteSilent({ node }: Member, nowUs: number): void {
    this.#silent.set(node, nowUs + silentUs);
  }

  /** The number of other targets whose names precede the target's: the same order in all plans. */
  #rank(targets: DispatchPlan['targets'], index: number): number {
    const node = targets[index]?.member.node ?? '';
    let rank = 0;
    for (const { member } of targets) if (member !== this.#self && member.node < node) rank += 1;
    return rank;
  }

  #isAnySilent(targets: DispatchPlan['targets'], nowUs: number): boolean {
    if (this.#silent.size === 0) return false;
    for (const [node, untilUs] of this.#silent) if (untilUs <= nowUs) this.#silent.delete(node);
    return targets.some(({ member }) => this.#silent.has(member.node));
  }
}
