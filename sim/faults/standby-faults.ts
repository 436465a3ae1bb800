/**
 * `node-standby`: an operator puts a member in STANDBY and takes it back when the fault is over, or at the calm; once
 * it is there again, where it is down by then.
 */
import type { StandbyPeriod } from '../check/standby.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** How often the operator asks a node that has not returned. */
const retryUs = 300_000;

export class StandbyFaults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #ended: StandbyPeriod[] = [];
  /** Since when a node has been in STANDBY, by its own word. */
  readonly #since = new Map<string, number>();
  readonly #returning = new Set<string>();

  constructor(world: World, cluster: Cluster) {
    this.#world = world;
    this.#cluster = cluster;
    world.trace.on('membership.move.declared', ({ host, atUs, fields }) => {
      if (!cluster.names.includes(host)) return;
      const fromUs = this.#since.get(host);
      if (fields['state'] === 'STANDBY') this.#since.set(host, fromUs ?? atUs);
      else if (fromUs !== undefined) {
        this.#since.delete(host);
        this.#ended.push({ node: host, fromUs, toUs: atUs });
      }
    });
  }

  /** Those that are over, then those that are not. */
  get periods(): readonly StandbyPeriod[] {
    const open = [...this.#since].map(([node, fromUs]) => ({ node, fromUs, toUs: Infinity }));
    return [...this.#ended, ...open];
  }

  /** False: the node is down, or refuses. */
  strike(name: string): boolean {
    return this.#cluster.standby(name, false);
  }

  /** The operator asks until the node has returned. */
  return(name: string): void {
    if (this.#returning.has(name)) return;
    this.#returning.add(name);
    this.#ask(name);
  }

  /** Every node that is in STANDBY returns. */
  calm(): void {
    for (const name of this.#since.keys()) this.return(name);
  }

  #ask(name: string): void {
    if (!this.#since.has(name)) {
      this.#returning.delete(name);
      return;
    }
    this.#cluster.standby(name, true);
    this.#world.after(retryUs, `return ${name}`, () => this.#ask(name));
  }
}
