/**
 * This machine in place of the simulated world: the clients of a plan run here, over real connections, in real time.
 * Their random streams have the names of the world's, so that they draw what the simulated clients draw.
 */
import { join } from 'node:path';

import { realClock } from '../../engine/real/clock.ts';
import { createRealIo } from '../../engine/real/io.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Random } from '../../engine/io/random.ts';
import type { Network } from '../../engine/io/network.ts';
import type { LoadWorld } from '../workload/load-world.ts';
import { WorldRandom } from '../world/core/random.ts';

/** Something that will happen, unless it is cancelled. */
export interface Planned {
  cancel(): void;
}

/** The machine. Times are microseconds since it was made. */
export class MachineWorld implements LoadWorld {
  /** Errors of clients and operators, which none of them expects. */
  readonly failures: string[] = [];
  readonly #startUs = realClock.nowUs();
  readonly #random: WorldRandom;
  readonly #shared: Io;
  readonly #planned = new Set<Planned>();
  #network: Network;

  /** `seed`: that of the world whose run this one is compared with. */
  constructor(seed: string, directory: string) {
    this.#random = WorldRandom.root(seed);
    this.#shared = createRealIo({
      dataDirectory: join(directory, 'clients'),
      logLevel: 'error',
      node: 'clients',
    });
    this.#network = this.#shared.network;
  }

  get nowUs(): number {
    return realClock.nowUs() - this.#startUs;
  }

  /** The streams of the run, by the names that the world gives them. */
  get random(): Random {
    return this.#random.fork('run');
  }

  /** From now on clients connect over `follow` of the machine's network. */
  followClients(follow: (network: Network) => Network): void {
    this.#network = follow(this.#shared.network);
  }

  addHost(name: string): { boot(): Io } {
    let lives = 0;
    return {
      boot: () => {
        lives += 1;
        return {
          ...this.#shared,
          network: this.#network,
          random: this.#random.fork(`life/${name}/${lives}`),
          spawn: (task, work) => this.follow(`${name}, ${task}`, work()),
        };
      },
    };
  }

  /** No caller waits for the work; its failure is one of the run. */
  follow(name: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  at(atUs: number, name: string, act: () => void): Planned {
    return this.after(atUs - this.nowUs, name, act);
  }

  /** As `at`, `delayUs` from now. */
  after(delayUs: number, _name: string, act: () => void): Planned {
    const timer = realClock.after(Math.max(0, delayUs), () => {
      this.#planned.delete(planned);
      act();
    });
    const planned: Planned = { cancel: () => timer.cancel() };
    this.#planned.add(planned);
    return planned;
  }

  /** Nothing that was planned happens any more. */
  close(): void {
    for (const planned of this.#planned) planned.cancel();
  }
}
