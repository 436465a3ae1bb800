/**
 * Reads after the calm: every key at quorum in every datacenter, through one node after another, until it is answered;
 * and every node is pinged and asked for its ring. What stays unanswered is recorded as such.
 */
import type { ClusterView } from '../../engine/api/http/cluster-routes.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address } from '../../engine/io/network.ts';
import type { NodeRecord } from '../check/protocols/malformed-input.ts';
import type { RingRecord } from '../check/cluster/ring-agreement.ts';
import type { HttpClient } from '../world/world.ts';
import type { Client, ClientTarget } from './client.ts';
import { PbConnection } from './pb-connection.ts';

const retryUs = 200_000;

/** Reads each of `keyCount` keys through `client`, whose targets are `targets`, until it is answered or time is up. */
export async function readAll(
  client: Client,
  targets: readonly ClientTarget[],
  keyCount: number,
  io: Io,
  stopped: () => boolean,
): Promise<void> {
  let turn = 0;
  let pending = Array.from({ length: keyCount }, (_, key) => key);
  while (pending.length > 0 && !stopped()) {
    const unanswered: number[] = [];
    for (const key of pending) {
      const target = targets[turn++ % targets.length];
      if (target !== undefined) client.turnTo(target);
      if ((await client.read(key, 'quorum', true)) !== 'ok') unanswered.push(key);
    }
    pending = unanswered;
    if (pending.length > 0) await sleep(io.clock, retryUs);
  }
}

/** Pings a node until it answers or time is up, once at least. */
export async function pingNode(
  target: ClientTarget,
  io: Io,
  nowUs: () => number,
  stopped: () => boolean,
): Promise<NodeRecord> {
  for (;;) {
    const answers = await answersPing(target, io);
    if (answers || stopped()) return { node: target.node, atUs: nowUs(), answers };
    await sleep(io.clock, retryUs);
  }
}

/** Asks a node for its ring until the node answers that no ring change is under way, or time is up. */
export async function askRing(
  node: string,
  http: HttpClient,
  address: Address,
  io: Io,
  nowUs: () => number,
  stopped: () => boolean,
): Promise<RingRecord> {
  let seen: RingRecord['seen'];
  for (;;) {
    seen = (await readRing(http, address)) ?? seen;
    if (stopped() || seen?.moving.length === 0) return { node, atUs: nowUs(), seen };
    await sleep(io.clock, retryUs);
  }
}

async function readRing(http: HttpClient, address: Address): Promise<RingRecord['seen']> {
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

async function answersPing(target: ClientTarget, io: Io): Promise<boolean> {
  let connection: PbConnection;
  try {
    connection = await PbConnection.open(io, target, retryUs);
  } catch {
    // The node refuses or is silent: it does not answer.
    return false;
  }
  const exchange = await connection.ask({ kind: 'ping' }, retryUs);
  connection.close();
  return exchange.kind === 'answered' && exchange.answer.kind === 'pong';
}
