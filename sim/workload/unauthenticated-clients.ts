/**
 * The unauthenticated clients of a run (`unauthorized-request`), and the client that looks after the calm for anything
 * they wrote.
 */
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type {
  FalseCredential,
  GuardedListener,
  UnauthenticatedRecord,
  UntouchedRecord,
} from '../evidence/unauthenticated-clients.ts';
import type { PlanFault } from '../plan/plan.ts';
import { HttpClient } from '../world/http/http-client.ts';
import type { LoadCluster, LoadWorld } from './load-world.ts';
import { PbConnection } from './pb-connection.ts';
import { unauthenticatedPlace, visit } from './unauthenticated-client.ts';

const retryUs = 200_000;
const patienceUs = 2_000_000;

type Spawn = (io: Io, task: () => Promise<void>) => void;

/** The unauthenticated clients of one run and their records. */
export class UnauthenticatedClients {
  readonly records: UnauthenticatedRecord[] = [];
  readonly untouched: UntouchedRecord[] = [];
  readonly #world: LoadWorld;
  readonly #cluster: LoadCluster;
  readonly #token: string | undefined;
  #host: { readonly io: Io; readonly http: HttpClient } | undefined;

  /** `token`: an admin's; undefined if nodes demand no credentials. */
  constructor(world: LoadWorld, cluster: LoadCluster, token: string | undefined) {
    this.#world = world;
    this.#cluster = cluster;
    this.#token = token;
  }

  ask(id: string, node: string, params: PlanFault['params'], spawn: Spawn): boolean {
    if (this.#token === undefined || !this.#cluster.serves(node)) return false;
    this.#host ??= this.#boot('strangers');
    const { io, http } = this.#host;
    const listener = params['listener'] as GuardedListener;
    const guise = params['guise'] as FalseCredential;
    const address = this.#cluster.address(node, listener);
    spawn(io, async () => {
      const atUs = this.#world.nowUs;
      const what = Number(params['what']);
      const { asked, answered } = await visit({ listener, guise, what, address }, io, http);
      this.records.push({ id, node, atUs, asked, answered });
    });
    return true;
  }

  /** Asks every node for the key that these clients tried to write, until it answers or `stopped` returns true. */
  lookAfter(stopped: () => boolean, spawn: Spawn): void {
    if (this.#token === undefined) return;
    const { io } = this.#boot('strangers-after');
    for (const node of this.#cluster.members) {
      spawn(io, async () => {
        let found = await this.#look(node, io);
        while (found === undefined && !stopped()) {
          await sleep(io.clock, retryUs);
          found = await this.#look(node, io);
        }
        this.untouched.push({ node, atUs: this.#world.nowUs, found });
      });
    }
  }

  /** Uses the binary protocol, which the observer follows. */
  async #look(node: string, io: Io): Promise<string | undefined> {
    const target = { address: this.#cluster.address(node, 'pb'), token: this.#token };
    try {
      const connection = await PbConnection.open(io, target, patienceUs);
      const exchange = await connection.ask({ kind: 'get', message: unauthenticatedPlace }, patienceUs);
      connection.close();
      // The request was lost, or too few replicas answered: the node has said nothing.
      if (exchange.kind === 'lost' || exchange.answer.kind !== 'got') return undefined;
      const [content] = exchange.answer.message.content ?? [];
      return content === undefined ? '' : Buffer.from(content.value).toString();
    } catch {
      // The node is down, too slow, or rejects the credentials.
      return undefined;
    }
  }

  #boot(name: string): { readonly io: Io; readonly http: HttpClient } {
    const io = this.#world.addHost(name).boot();
    return { io, http: new HttpClient(io) };
  }
}
