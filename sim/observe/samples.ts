/**
 * Looks at nodes' numbers: at random instants of the storm, at scrapes, at the end of every life and after the calm. Each
 * goes into the books of the witness, and is counted here by itself: what the books hold less was not looked at.
 */
import type { Random } from '../../engine/io/random.ts';
import type { Moment } from '../check/reconcile/account.ts';
import type { RunObserver } from './observer.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** Random instants of the storm at which every node's numbers are checked. */
const looksPerStorm = 10;

export class Samples {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #witness: RunObserver | undefined;
  readonly #byLife = new Map<string, number>();

  constructor(world: World, cluster: Cluster, witness: RunObserver | undefined) {
    this.#world = world;
    this.#cluster = cluster;
    this.#witness = witness;
    // The witness looks by itself then.
    cluster.onLifeEnding((name) => this.#count(name));
  }

  /** How many looks each life got that served at all. */
  get perLife(): readonly number[] {
    return [...this.#byLife.values()];
  }

  at(name: string, moment: Moment): void {
    this.#count(name);
    this.#witness?.look(name, moment);
  }

  atAll(moment: Moment): void {
    for (const name of this.#cluster.names) {
      // One that is gone and was started again never settles.
      this.at(name, this.#cluster.hasReturned(name) ? 'running' : moment);
    }
  }

  /** At all nodes, at so many instants of the storm that begins now. */
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

/** What one draw tells apart. */
const drawsMax = 2 ** 32;

/** A whole number 0..endUs-1 without bias. A storm may be longer than one draw tells apart: 71.6 minutes. */
export function instantBefore(random: Random, endUs: number): number {
  if (endUs <= drawsMax) return random.below(endUs);
  for (;;) {
    const us = random.below(Math.ceil(endUs / drawsMax)) * drawsMax + random.u32();
    if (us < endUs) return us;
  }
}
