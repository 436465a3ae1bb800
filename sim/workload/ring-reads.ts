/** Every node is asked for its ring after the calm. What stays unanswered is recorded as such. */
import type { ClusterView } from '../../engine/api/http/cluster-routes.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address } from '../../engine/io/network.ts';
import type { RingRecord } from '../check/cluster/ring-agreement.ts';
import type { HttpClient } from '../world/world.ts';

const retryUs = 200_000;

/** How often all nodes are asked again. Rings that still differ after that (two seconds and more) are for the check. */
const againMax = 10;

/** How nodes are asked. */
export interface RingAsker {
  readonly http: Pick<HttpClient, 'request'>;
  readonly io: Pick<Io, 'clock'>;
  readonly addressOf: (node: string) => Address;
  readonly nowUs: () => number;
  /** Whether time is up. */
  readonly stopped: () => boolean;
}

/** The rings of all nodes. */
export class RingReads {
  readonly records: RingRecord[] = [];

  /**
   * Asks a node until it answers that no ring change is under way, or time is up. Once `count` nodes are through, asks
   * all again, at most `againMax` times, until they name the same ring: one node learns later than another that a ring
   * change is over.
   */
  async ask(node: string, count: number, asker: RingAsker): Promise<void> {
    this.records.push(await askRing(node, asker));
    if (this.records.length === count) await this.#untilAgreed(asker);
  }

  async #untilAgreed(asker: RingAsker): Promise<void> {
    const disagree = (): boolean => new Set(this.records.map(({ seen }) => seen?.view)).size > 1;
    for (let again = 0; again < againMax && disagree() && !asker.stopped(); again++) {
      await sleep(asker.io.clock, retryUs);
      for (const [index, { node }] of this.records.entries())
        this.records[index] = await askRing(node, asker);
    }
  }
}

async function askRing(node: string, asker: RingAsker): Promise<RingRecord> {
  const { http, io, addressOf, nowUs, stopped } = asker;
  let seen: RingRecord['seen'];
  for (;;) {
    seen = (await readRing(http, addressOf(node))) ?? seen;
    if (stopped() || seen?.moving.length === 0) return { node, atUs: nowUs(), seen };
    await sleep(io.clock, retryUs);
  }
}

async function readRing(http: RingAsker['http'], address: Address): Promise<RingRecord['seen']> {
  try {
    const { body } = await http.request(address, { method: 'GET', path: '/cluster' }, 5 * retryUs);
    const { view, members } = JSON.parse(body.toString('utf8')) as ClusterView;
    const owners = members.filter(({ owns }) => owns).map((member) => member.node);
    const moving = members.filter(({ move }) => move !== 'none').map((member) => member.node);
    return { view, owners, moving };
  } catch {
    // The node is down or too slow: it has not answered.
    return undefined;
  }
}
