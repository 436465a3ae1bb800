/** Which exchange a node takes part in, and when it ends. */
import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import type { ByteString, NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { objectKey } from '../base/object-key.ts';
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

test('a range whose list has many pages is listed once', async () => {
  const clock = new TestClock();
  const keys = Array.from(
    { length: 50 },
    (_, at) => objectKey(byteStringOf('t'), byteStringOf('b'), byteStringOf(`k${at + 10}`)).packed,
  );
  let listings = 0;
  const range = new Tree(4).rangeOf(0);
  const refresh = {
    tree: new Tree(4),
    settle: () => Promise.resolve(),
    entriesOf: () => {
      listings += 1;
      return Promise.resolve(keys.map((key) => ({ key, token: 1, hash: { high: 1, low: 1 } })));
    },
  };
  const answerer = new Answerer(self, clock, refresh as never, { listBytesMax: 100 });
  const listed: string[] = [];
  const listAll = async (): Promise<void> => {
    for (let isComplete = false; !isComplete;) {
      const after = (listed.at(-1) ?? '') as ByteString;
      const answer = await answerer.answer(first, {
        kind: 'list',
        segmentBits: 4,
        ranges: [{ ...range, after }],
      });
      const [list] = answer.kind === 'lists' ? answer.lists : [];
      listed.push(...(list?.entries ?? []).map(({ key }) => key));
      isComplete = list?.complete ?? true;
    }
  };
  await listAll();
  expect([listed, listings]).toEqual([keys, 1]);
  await answerer.answer(first, { kind: 'close' });
  listed.length = 0;
  await listAll();
  expect([listed, listings]).toEqual([keys, 2]);
});
