/**
 * `node-standby`: an operator puts a member in STANDBY and takes it back when the fault is over or at the calm. If the
 * member is down then, the operator repeats the request until it has returned.
 */
import type { StandbyPeriod } from '../check/standby.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** How often the operator repeats the request, in microseconds. */
const retryUs = 300_000;

/** Injects `node-standby` and records when nodes were in STANDBY. */
export class StandbyFaults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #ended: StandbyPeriod[] = [];
  /** Since when each node has been in STANDBY, as it declared itself. */
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

  /** The periods that are over, then those that last. */
  get periods(): readonly StandbyPeriod[] {
    const open = [...this.#since].map(([node, fromUs]) => ({ node, fromUs, toUs: Infinity }));
    return [...this.#ended, ...open];
  }

  /** Puts the node in STANDBY. Returns false if it is down or refuses. */
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
