import { expect, test } from 'vitest';

import type { Token } from '../base/ids.ts';
import { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { keyOf, SlowStore } from '../replica/replica-harness.fixture.ts';
import { ObjectRound } from './object-round.ts';
import { planWrite } from './plan.ts';
import { HeldLinks, fourMembers, roundPartsOf } from './round-parts.fixture.ts';

const token = 7 as Token;
const [n1, n2, n3, n4] = fourMembers;

/** An object on its way from n1; n2 and n3 are the other replicas. */
class Harness {
  /** Members that begin to take over the key. */
  pending: readonly Member[] = [];
  readonly met: boolean[] = [];
  readonly round: ObjectRound;
  readonly links = new HeldLinks();

  constructor() {
    const ring = new Ring([n1, n2, n3]);
    const parts = roundPartsOf(
      {
        self: n1,
        ring,
        store: new SlowStore(),
        plane: this.links,
      },
      { pending: () => this.pending },
    );
    const plan = planWrite(parts.view, ring.placement(token), 'DC_QUORUM', 'default');
    if (plan.kind !== 'plan') throw new Error(plan.detail);
    const item = { key: keyOf('k'), token, bytes: Buffer.from('v') };
    const place = new KeyPlacement(token, ring);
    this.round = new ObjectRound(parts, item, place, plan, (met) => this.met.push(met));
    this.round.send(1_000_000);
  }
}

test('a member that begins to take over the key before the object is durable here gets it first of all', () => {
  for (const isWritten of [true, false]) {
    const harness = new Harness();
    harness.pending = [n4];
    harness.links.answer(n2);
    harness.links.answer(n3);
    expect([harness.links.asked, harness.met]).toEqual([['n2', 'n3'], []]);
    harness.round.durableHere();
    expect([harness.links.asked, harness.met]).toEqual([['n2', 'n3', 'n4'], []]);
    harness.links.answer(n4, isWritten);
    expect(harness.met).toEqual([true]);
    expect([harness.round.isCalm, harness.round.holders.has(n4.node)]).toEqual([false, isWritten]);
  }
});

test('a member that begins to take over the key raises the need', () => {
  const harness = new Harness();
  harness.pending = [n4];
  harness.links.answer(n2);
  harness.round.durableHere();
  // A quorum of n3, n4 and the replacement of another one would miss the object.
  harness.links.answer(n4, false);
  expect(harness.met).toEqual([]);
  harness.links.answer(n3);
  expect(harness.met).toEqual([true]);
});

test('the level is met, once, when enough replicas have the object and it is durable here', () => {
  const harness = new Harness();
  harness.links.answer(n2);
  expect(harness.met).toEqual([]);
  harness.round.durableHere();
  expect(harness.met).toEqual([true]);
  harness.links.answer(n3);
  expect(harness.met).toEqual([true]);
});

test('a level that can no longer be met is reported at once', () => {
  const harness = new Harness();
  harness.links.answer(n2, false);
  expect(harness.met).toEqual([]);
  harness.links.answer(n3, false);
  expect(harness.met).toEqual([false]);
  harness.round.durableHere();
  expect(harness.met).toEqual([false]);
});
