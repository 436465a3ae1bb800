/**
 * Reads after the calm: every key at quorum in every datacenter, through one node after another, until it is answered;
 * and every node is pinged. What stays unanswered is recorded as such.
 */
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { NodeRecord } from '../check/protocols/malformed-input.ts';
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
