/** Which exchange a node takes part in, and when it ends. */
import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import type { NodeId } from '../base/ids.ts';
import { Answerer } from './answerer.ts';
import type { Question } from './messages.ts';
import { Refresh } from './refresh.ts';
import { Throttle } from './throttle.ts';
import { Tree } from './tree.ts';

const [self, first, second] = ['n2', 'n1', 'n3'] as [NodeId, NodeId, NodeId];
const question: Question = { kind: 'hashes', segmentBits: 4, ranges: [] };

/** The answers of one node, and the incarnation numbers of its reachable peers. */
function harnessOf(): {
  readonly clock: TestClock;
  readonly incarnations: Map<NodeId, number>;
  ask(from: NodeId): Promise<string>;
} {
  const clock = new TestClock();
  const incarnations = new Map<NodeId, number>([
    [first, 7],
    [second, 7],
  ]);
  const store = {
    fingerprints: { listen: () => undefined },
    get: () => undefined,
    getDoubted: () => undefined,
    hasNewest: () => false,
    keepsDoubt: () => false,
  };
  const tree = new Tree(4);
  const refresh = new Refresh(tree, store as never, new Throttle(clock, 0));
  const answerer = new Answerer(self, clock, refresh, { incarnationOf: (peer) => incarnations.get(peer) });
  return { clock, incarnations, ask: async (from) => (await answerer.answer(from, question)).kind };
}

test('a node takes part in one exchange until its lease ends', async () => {
  const { clock, ask } = harnessOf();
  expect([await ask(first), await ask(second), await ask(first)]).toEqual(['hashes', 'busy', 'hashes']);
  clock.advance(9_000_000);
  expect(await ask(second)).toBe('busy');
  clock.advance(1_000_000);
  expect(await ask(second)).toBe('hashes');
});

test('the exchange of a peer that is unreachable, or has started again, is over at once', async () => {
  for (const incarnation of [undefined, 8]) {
    const { incarnations, ask } = harnessOf();
    expect([await ask(first), await ask(second)]).toEqual(['hashes', 'busy']);
    if (incarnation === undefined) incarnations.delete(first);
    else incarnations.set(first, incarnation);
    expect([await ask(second), await ask(first)]).toEqual(['hashes', 'busy']);
  }
});
