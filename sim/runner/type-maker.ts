/** Acts as the operator who creates the bucket type that keeps siblings, where no configuration defines it. */
import type { LoadCluster, LoadWorld } from '../workload/load-world.ts';
import { siblingsType } from '../world/cluster/node-config.ts';
import { HttpClient } from '../world/http/http-client.ts';

const timeoutUs = 5_000_000;

/** Creates the bucket type over the network. */
export class TypeMaker {
  readonly #cluster: LoadCluster;
  readonly #client: HttpClient;
  readonly #spawn: (name: string, task: () => Promise<void>) => void;

  constructor(world: LoadWorld, cluster: LoadCluster) {
    this.#cluster = cluster;
    const io = world.addHost('type-maker').boot();
    this.#client = new HttpClient(io);
    this.#spawn = (name, task) => io.spawn(name, task);
  }

  /** Asks the first member; `over` is true once it has answered that the type exists. */
  make(): { readonly over: boolean } {
    const made = { over: false };
    const [first = ''] = this.#cluster.members;
    const body = JSON.stringify({ name: siblingsType, props: { allow_mult: true } });
    const request = {
      method: 'POST',
      path: '/types',
      headers: { 'Content-Type': 'application/json' },
      body,
    } as const;
    this.#spawn('types.make', async () => {
      const { status } = await this.#client.request(this.#cluster.address(first, 'http'), request, timeoutUs);
      made.over = status >= 200 && status < 300;
    });
    return made;
  }
}
