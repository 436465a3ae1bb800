/**
 * Samples the nodes' metrics: at random instants of the storm, at scrapes, at the end of every incarnation and after
 * the calm. The run observer takes an account of each sample. Samples are also counted here, so that missing accounts
 * are noticed.
 */
import type { Random } from '../../engine/io/random.ts';
import type { Moment } from '../check/metrics/reconcile/account.ts';
import type { RunObserver } from './observer.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** Number of random instants of the storm at which every node's metrics are compared. */
const looksPerStorm = 10;

/** Schedules the samples of one run and counts them per incarnation. */
export class Samples {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #witness: RunObserver | undefined;
  readonly #byLife = new Map<string, number>();

  constructor(world: World, cluster: Cluster, witness: RunObserver | undefined) {
    this.#world = world;
    this.#cluster = cluster;
    this.#witness = witness;
    // The run observer takes that sample by itself.
    cluster.onLifeEnding((name) => this.#count(name));
  }

  /** Number of samples of each incarnation that served at all. */
  get perLife(): readonly number[] {
    return [...this.#byLife.values()];
  }

  at(name: string, moment: Moment): void {
    this.#count(name);
    this.#witness?.look(name, moment);
  }

  atAll(moment: Moment): void {
    for (const name of this.#cluster.names) {
      // A node that was removed and started again never settles.
      this.at(name, this.#cluster.hasReturned(name) ? 'running' : moment);
    }
  }

  /** Samples all nodes at random instants of the storm that begins now; `stormUs` is its length. */
  atRandom(stormUs: number): void {
    const random = this.#world.random.fork('looks');
    for (let count = 0; count < looksPerStorm; count++) {
      this.#world.after(instantBefore(random, stormUs), 'look', () => this.atAll('running'));
    }
  }

  #count(name: string): void {
    if (!this.#cluster.serves(name)) return;
    const life = `${name}/${this.#cluster.host(name).lives}`;
    this.#byLife.set(life, (this.#byLife.get(life) ?? 0) + 1);
  }
}

/** Number of values that one draw can take. */
const drawsMax = 2 ** 32;

/** A whole number 0..endUs-1 without bias. A storm may be longer than the range of one draw, 71.6 minutes. */
export function instantBefore(random: Random, endUs: number): number {
  if (endUs <= drawsMax) return random.below(endUs);
  for (;;) {
    const us = random.below(Math.ceil(endUs / drawsMax)) * drawsMax + random.u32();
    if (us < endUs) return us;
  }
}
