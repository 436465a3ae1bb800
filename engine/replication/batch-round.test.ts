import { expect, test } from 'vitest';

import type { NodeId, Token } from '../base/ids.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { keyOf, SlowStore } from '../replica/replica-harness.fixture.ts';
import { BatchRound } from './batch-round.ts';
import { HeldLinks, fourMembers, roundPartsOf } from './round-parts.fixture.ts';

const [n1, n2, n3, n4] = fourMembers;

/** A batch of two keys that n1 has applied; n2 and n3 are the other replicas. */
class Harness {
  /** Members that begin to take over the keys. */
  pending: readonly Member[] = [];
  readonly met: boolean[] = [];
  readonly round: BatchRound;
  readonly links = new HeldLinks();

  constructor(members: readonly Member[] = [n1, n2, n3], tokens: readonly [number, number] = [7, 7]) {
    const parts = roundPartsOf(
      {
        self: n1,
        ring: new Ring(members),
        store: new SlowStore(),
        plane: this.links,
      },
      { pending: (token) => (token === tokens[1] ? this.pending : []) },
    );
    const places = ['a', 'b'].map((name, index) => ({ key: keyOf(name), token: tokens[index] as Token }));
    const level = { level: 'DC_QUORUM', coordinator: n1.node, clientId: '' } as const;
    this.round = new BatchRound(parts, places, [Buffer.from('a'), Buffer.from('b')], level);
    this.round.whenMet((met) => this.met.push(met));
    this.round.send(1_000_000);
  }
}

test('a member that begins to take keys over before the batch is durable here raises the need', () => {
  for (const [first, last, met] of [
    [n4, n3, [true]],
    [n3, n4, [true]],
  ] as const) {
    const harness = new Harness();
    harness.links.answer(n2);
    harness.pending = [n4];
    harness.round.durableHere();
    expect([harness.links.asked, harness.met]).toEqual([['n2', 'n3', 'n4'], []]);
    harness.links.answer(first, first === n3);
    // Two of three old owners have the batch; a quorum of n4 and the third one would miss it.
    expect(harness.met).toEqual([]);
    harness.links.answer(last, last === n3);
    expect(harness.met).toEqual(met);
  }
});

test('the new owner counts as one that has the batch', () => {
  const harness = new Harness();
  harness.links.answer(n2);
  harness.pending = [n4];
  harness.round.durableHere();
  harness.links.answer(n4);
  expect(harness.met).toEqual([true]);
});

test('a level that the new owner puts out of reach is reported at once', () => {
  const harness = new Harness();
  harness.links.answer(n3, false);
  harness.links.answer(n2);
  harness.pending = [n4];
  harness.round.durableHere();
  expect(harness.met).toEqual([]);
  harness.links.answer(n4, false);
  expect(harness.met).toEqual([false]);
});

test('without a new owner the level is met as soon as enough replicas have the batch', () => {
  const harness = new Harness();
  harness.links.answer(n2);
  harness.round.durableHere();
  expect(harness.met).toEqual([true]);
});

test('an answer counts for the keys that it is about: a replica of one key may begin to take over the other', () => {
  const n5: Member = { node: 'n5' as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [5000 as Token] };
  const members = [n1, n2, n3, n5];
  const tokens = [900, 4000] as const;
  const placed = tokens.map((token) =>
    new Ring(members)
      .placement(token as Token)
      .map(({ node }) => node)
      .toSorted(),
  );
  expect(placed).toEqual([
    ['n1', 'n2', 'n3'],
    ['n1', 'n3', 'n5'],
  ]);
  const harness = new Harness(members, tokens);
  const first = harness.links.answerOf(n2);
  harness.pending = [n2];
  harness.round.durableHere();
  const second = harness.links.answerOf(n2);
  first(true);
  harness.links.answer(n5);
  // n2 holds the first key; whether it has the second one is open.
  expect(harness.met).toEqual([]);
  second(true);
  expect(harness.met).toEqual([true]);
});
