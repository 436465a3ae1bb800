/** A node that is started anew when its disk was full and has room again, instead of waiting for its operator. */
import type { Node } from '../node.ts';

type Renewable = Pick<Node, 'left' | 'onRoom' | 'stop'>;

/** Runs what `start` starts, and starts it again as often as it asks for it, until a stop is requested or it has left. */
export async function runRenewed(
  start: () => Promise<Renewable>,
  stopRequested: Promise<void>,
): Promise<void> {
  const over = stopRequested.then(() => 'over' as const);
  for (;;) {
    const node = await start();
    const end = await Promise.race([over, endOf(node)]);
    await node.stop();
    if (end === 'over') return;
  }
}

function endOf(node: Renewable): Promise<'over' | 'room'> {
  return Promise.race([
    node.left.then(() => 'over' as const),
    new Promise<'room'>((resolve) => node.onRoom(() => resolve('room'))),
  ]);
}
