/**
 * Restarts a node without its operator in two cases: its full disk has free space again, or its peers have assigned it
 * other tokens.
 */
import type { Token } from '../../base/ids.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { Node } from '../../node/node.ts';
import { lacksSpace } from '../../storage/faults.ts';

type Renewable = Pick<Node, 'left' | 'onSpaceAvailable' | 'onTokens' | 'stop'>;
type Doors = Pick<Io, 'clock' | 'log'>;
/** Starts a node, with the tokens that peers have assigned, or with those of its configuration if undefined. */
type Start = (tokens: readonly Token[] | undefined) => Promise<Renewable>;

/** Microseconds until a start that failed on a full disk is tried again. */
const restUs = 5_000_000;

/**
 * Runs the node that `start` starts, and restarts it whenever it asks for it, until a stop is requested or the node has
 * left. The disk may be full again by the restart; then the restart is repeated every five seconds. Rejects with any
 * other error of a start, and with every error of the first start.
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
      node.onSpaceAvailable(() => resolve('room'));
      node.onTokens((tokens) => resolve({ tokens }));
    }),
  ]);
}

/** The restarted node; undefined if a stop was requested while the disk was full. */
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
