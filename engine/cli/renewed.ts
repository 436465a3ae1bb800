/**
 * A node that is started anew instead of waiting for its operator: when its disk was full and has room again, and when
 * the cluster has told it which tokens it has.
 */
import type { Token } from '../base/ids.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { Node } from '../node/node.ts';
import { lacksSpace } from '../storage/faults.ts';

type Renewable = Pick<Node, 'left' | 'onRoom' | 'onTokens' | 'stop'>;
type Doors = Pick<Io, 'clock' | 'log'>;
/** Starts a node, with these tokens where the cluster knows better than its configuration. */
type Start = (tokens: readonly Token[] | undefined) => Promise<Renewable>;

/** Until a start is tried again for which there was no room. */
const restUs = 5_000_000;

/**
 * Runs what `start` starts, and starts it again as often as it asks for it, until a stop is requested or it has left. The
 * room that it has seen may be gone when it starts: then it is tried again, and again. Rejects with what else a start
 * rejects with, the first one with that, too.
 */
export async function runRenewed(io: Doors, start: Start, stopRequested: Promise<void>): Promise<void> {
  const over = stopRequested.then(() => 'over' as const);
  let tokens: readonly Token[] | undefined;
  let node: Renewable | undefined = await start(tokens);
  while (node !== undefined) {
    const end: End = await Promise.race([over, endOf(node)]);
    await node.stop();
    if (typeof end === 'object') ({ tokens } = end);
    node = end === 'over' ? undefined : await startAgain(io, () => start(tokens), over);
  }
}

type End = 'over' | 'room' | { readonly tokens: readonly Token[] };

function endOf(node: Renewable): Promise<End> {
  return Promise.race([
    node.left.then(() => 'over' as const),
    new Promise<End>((resolve) => {
      node.onRoom(() => resolve('room'));
      node.onTokens((tokens) => resolve({ tokens }));
    }),
  ]);
}

/** Undefined: a stop was requested while there was no room. */
async function startAgain(
  io: Doors,
  start: () => Promise<Renewable>,
  over: Promise<'over'>,
): Promise<Renewable | undefined> {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!lacksSpace(error)) throw error;
      io.log.event('error', 'node.start.waiting', { detail: String(error) });
    }
    let timer: Timer | undefined;
    const rested = new Promise<'rested'>((resolve) => {
      timer = io.clock.after(restUs, () => resolve('rested'));
    });
    const first = await Promise.race([over, rested]);
    timer?.cancel();
    if (first === 'over') return undefined;
  }
}
