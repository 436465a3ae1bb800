/**
 * A process that takes a backup and vanishes: it has one node hold its writes back, pins a cut or not, and sends nothing
 * more. After the lease an operator looks at what is left: tries the same backup's cut and release, and holds for another.
 */
import type { Io } from '../../engine/io/io.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { LeaseRecord } from '../evidence/backup-leases.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { HttpClient } from '../world/http/http-client.ts';
import type { World } from '../world/world.ts';

const timeoutUs = 3_000_000;
/** The operator looks so long after the lease. */
const marginUs = 400_000;

/** What the operator works with. */
export interface LeaseOperatorContext {
  readonly world: World;
  readonly cluster: Cluster;
  readonly token: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: { readonly detail?: string; readonly held?: boolean };
}

/** The vanished processes of one run. */
export class LeaseOperator {
  readonly leases: LeaseRecord[] = [];
  readonly #context: LeaseOperatorContext;
  /** When each backup's hold ended, by node and id. */
  readonly #resumed = new Map<string, number>();
  /** When each node last stood still, went on, or began to stop, which ends its holds. */
  readonly #disturbed = new Map<string, number>();

  constructor(context: LeaseOperatorContext) {
    this.#context = context;
    const { trace } = context.world;
    trace.on('backup.writes.resumed', ({ host, atUs, fields }) => {
      this.#resumed.set(`${host} ${String(fields['id'])}`, atUs);
    });
    for (const name of ['host.paused', 'host.resumed', 'node.stopping'])
      trace.on(name, ({ host, atUs }) => void this.#disturbed.set(host, atUs));
  }

  /** Holds the writes of the node for `leaseUs`, and vanishes. */
  async vanish(id: string, node: string, leaseUs: number, cuts: boolean, io: Io): Promise<void> {
    const { world, cluster } = this.#context;
    const invokedUs = world.nowUs;
    const { lives: life } = cluster.host(node);
    const held = await this.#post(node, 'hold', { id, lease_ms: leaseUs / 1000 }, io);
    if (held?.status !== 200) return;
    const heldUs = world.nowUs;
    if (cuts) await this.#post(node, 'cut', { id }, io);
    await sleep(io.clock, Math.max(0, leaseUs + marginUs - (world.nowUs - heldUs)));
    const resumedUs = this.#resumed.get(`${node} ${id}`);
    const lookedUs = world.nowUs;
    const lateCut = await this.#post(node, 'cut', { id }, io);
    const released = await this.#post(node, 'release', { id }, io);
    const next = await this.#next(id, node, io);
    if (cuts) await this.#post(node, 'end', { id }, io);
    const isSteady = (this.#disturbed.get(node) ?? -1) < invokedUs && !cluster.host(node).paused;
    const lived = cluster.serves(node) && cluster.host(node).lives === life && isSteady;
    this.leases.push({
      ...{ id, node, invokedUs, heldUs, leaseUs, resumedUs, lookedUs, lived, next },
      lateCut: lateCut?.status,
      lateHeld: released?.body.held,
    });
  }

  /** Another backup holds, and releases at once. */
  async #next(id: string, node: string, io: Io): Promise<LeaseRecord['next']> {
    const answer = await this.#post(node, 'hold', { id: `next-${id}`, lease_ms: 100 }, io);
    if (answer === undefined) return undefined;
    if (answer.status === 200) await this.#post(node, 'release', { id: `next-${id}` }, io);
    return { status: answer.status, detail: answer.body.detail ?? '' };
  }

  async #post(node: string, step: string, said: object, io: Io): Promise<Answer | undefined> {
    const { cluster, token } = this.#context;
    try {
      const { status, body } = await new HttpClient(io, token).request(
        cluster.address(node, 'http'),
        {
          ...{ method: 'POST', path: `/backup/${step}`, body: JSON.stringify(said) },
          headers: { 'Content-Type': 'application/json' },
        },
        timeoutUs,
      );
      return { status, body: JSON.parse(body.toString('utf8')) as Answer['body'] };
    } catch {
      // The node is down, or too slow: it has not answered.
      return undefined;
    }
  }
}
