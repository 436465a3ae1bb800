import { createHash } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import type { Answer, LargeReader } from './large-answers.ts';
import { describeObject, LargeAnswers } from './large-answers.ts';
import type { ReplyFailure } from './round-dependencies.ts';
import { ReadBudget, ReadShare } from './read-budget.ts';

const nothing = (): void => undefined;
const silent = { enabled: () => false, event: () => undefined };
const untilUs = 1_000_000;
const patienceUs = 250_000;
const broken: ReplyFailure = { code: 'StorageFailed', message: 'it cannot be read' };

const [red, green, redToo] = ['red', 'green', 'red'].map((text) => Buffer.from(text));

function digestOf(object: Uint8Array): Uint8Array {
  return createHash('sha256').update(object).digest();
}

/**
 * A read with the given number of targets, and what it has been told of each: an object's text, `nothing`, or a code.
 */
class Reading implements LargeReader {
  readonly answers: (Answer | undefined)[] = [];
  readonly untilUs = untilUs;
  readonly patienceUs = patienceUs;
  readonly asked: number[] = [];
  readonly heard: (string | undefined)[];
  hasLetGo = false;
  readonly large: LargeAnswers;
  readonly budget: ReadBudget;
  readonly clock: TestClock;

  constructor(targets: number, clock = new TestClock(), budget = new ReadBudget(silent, 100)) {
    this.clock = clock;
    this.budget = budget;
    this.heard = new Array<string | undefined>(targets).fill(undefined);
    this.large = new LargeAnswers(clock, budget, this);
  }

  fetch(target: number): void {
    this.asked.push(target);
  }

  hear(target: number, error: ReplyFailure | undefined, bytes: Uint8Array | undefined): void {
    expect(this.heard[target]).toBeUndefined();
    this.heard[target] = error?.code ?? (bytes === undefined ? 'nothing' : Buffer.from(bytes).toString());
    if (error === undefined) this.answers[target] = { bytes };
    if (this.heard.every((one) => one !== undefined)) this.large.end();
  }

  letGo(): void {
    this.hasLetGo = true;
    this.large.end();
  }

  /** A description by another node. */
  describes(target: number, object: Uint8Array | undefined): void {
    if (object === undefined) throw new Error('an object');
    const { bytes, digest } = describeObject(object);
    this.large.described(target, bytes, digest);
  }
}

describe('large answers', () => {
  it('are fetched once, and count for every target that described the same', () => {
    const read = new Reading(3);
    read.describes(0, red);
    read.describes(1, redToo);
    expect([read.asked, read.heard]).toEqual([[0], [undefined, undefined, undefined]]);
    read.large.arrived(0, undefined, red);
    expect(read.heard).toEqual(['red', 'red', undefined]);
    read.describes(2, redToo);
    expect([read.asked, read.heard]).toEqual([[0], ['red', 'red', 'red']]);
    expect(read.budget.heldBytes).toBe(0);
  });

  it('are read from this node’s own disk if it has a copy', () => {
    const read = new Reading(2);
    const full = new Reading(1, read.clock, read.budget);
    full.large.described(0, 100, digestOf(Buffer.alloc(100)));
    read.describes(0, red);
    read.large.described(1, 3, undefined);
    expect(read.asked).toEqual([]);
    full.large.arrived(0, broken, undefined);
    expect(read.asked).toEqual([1]);
    read.large.arrived(1, undefined, redToo);
    expect(read.heard).toEqual(['red', 'red']);
  });

  it('of the same length with different digests are both fetched', () => {
    const read = new Reading(2);
    read.describes(0, Buffer.from('one'));
    read.describes(1, Buffer.from('two'));
    read.large.arrived(0, undefined, Buffer.from('one'));
    expect([read.asked, read.heard]).toEqual([
      [0, 1],
      ['one', undefined],
    ]);
    read.large.arrived(1, undefined, Buffer.from('two'));
    expect(read.heard).toEqual(['one', 'two']);
  });

  it('are compared with small answers, before and after these arrive', () => {
    const read = new Reading(3);
    const full = new Reading(1, read.clock, read.budget);
    full.large.described(0, 100, digestOf(Buffer.alloc(100)));
    read.describes(0, red);
    expect(read.large.waits).toBe(true);
    read.hear(1, undefined, redToo);
    read.large.settle();
    expect(read.heard).toEqual(['red', 'red', undefined]);
    read.describes(2, red);
    expect([read.asked, read.heard]).toEqual([[], ['red', 'red', 'red']]);
    expect(read.budget.waiting).toBe(0);
  });

  it('fail when the last target that offers them fails', () => {
    const read = new Reading(3);
    for (const target of [0, 1]) read.describes(target, red);
    read.describes(2, green);
    read.large.arrived(0, broken, undefined);
    expect([read.asked, read.heard]).toEqual([
      [0, 1],
      [undefined, undefined, undefined],
    ]);
    read.large.arrived(1, broken, undefined);
    expect(read.heard).toEqual(['StorageFailed', 'StorageFailed', undefined]);
    read.large.arrived(2, undefined, green);
    expect([read.heard[2], read.budget.heldBytes]).toEqual(['green', 0]);
  });

  it('count for a target whose fetch failed when another target sends the same', () => {
    const read = new Reading(2);
    for (const target of [0, 1]) read.describes(target, red);
    read.large.arrived(0, broken, undefined);
    read.large.arrived(1, undefined, red);
    expect(read.heard).toEqual(['red', 'red']);
  });

  it('that changed since they were described count with their new content and size', () => {
    const read = new Reading(3);
    for (const target of [0, 1]) read.describes(target, red);
    read.large.arrived(0, undefined, Buffer.from('scarlet'));
    expect([read.asked, read.heard]).toEqual([
      [0, 1],
      ['scarlet', undefined, undefined],
    ]);
    expect(read.budget.heldBytes).toBe(7 + 3);
    read.large.arrived(1, undefined, undefined);
    read.hear(2, undefined, undefined);
    expect([read.heard, read.budget.heldBytes]).toEqual([['scarlet', 'nothing', 'nothing'], 0]);
  });

  it('are fetched from another target when the first is slow, and from later ones at once', () => {
    const read = new Reading(3);
    for (const target of [0, 1]) read.describes(target, red);
    read.clock.advance(patienceUs - 1);
    expect(read.asked).toEqual([0]);
    read.clock.advance(1);
    expect(read.asked).toEqual([0, 1]);
    read.clock.advance(patienceUs);
    read.describes(2, green);
    expect(read.asked).toEqual([0, 1, 2]);
    // Its object has arrived from another target: the read no longer waits for the fetch, but its budget stays
    // reserved.
    read.large.arrived(1, undefined, red);
    read.large.arrived(2, undefined, green);
    expect([read.heard, read.budget.heldBytes]).toEqual([['red', 'red', 'green'], 3 + 3 + 5]);
    read.large.arrived(0, broken, undefined);
    expect(read.budget.heldBytes).toBe(0);
  });

  it('are fetched past a slow fetch', () => {
    const read = new Reading(3);
    for (const [target, object] of [red, green, redToo].entries()) read.describes(target, object);
    read.clock.advance(patienceUs);
    read.large.arrived(1, broken, undefined);
    expect([read.asked, read.heard]).toEqual([
      [0, 1, 2],
      [undefined, 'StorageFailed', undefined],
    ]);
  });

  it('are not fetched after the deadline', () => {
    const read = new Reading(2);
    for (const [target, object] of [red, green].entries()) read.describes(target, object);
    read.clock.advance(patienceUs - 1);
    read.large.arrived(0, undefined, red);
    const late = new Reading(2);
    for (const [target, object] of [red, green].entries()) late.describes(target, object);
    late.clock.advance(untilUs);
    expect([read.asked, late.asked, late.heard]).toEqual([[0, 1], [0], [undefined, 'Timeout']]);
    late.large.arrived(0, broken, undefined);
    expect([late.heard, late.budget.heldBytes]).toEqual([['StorageFailed', 'Timeout'], 0]);
  });

  it('time out if the budget admits none by the deadline, also those described later', () => {
    const read = new Reading(2);
    const full = new Reading(1, read.clock, read.budget);
    full.large.described(0, 100, digestOf(Buffer.alloc(100)));
    read.describes(0, red);
    read.clock.advance(untilUs);
    read.describes(1, green);
    expect([read.asked, read.heard]).toEqual([[], ['Timeout', 'Timeout']]);
    expect([read.budget.waiting, read.budget.heldBytes]).toEqual([0, 100]);
  });

  it('are refused by a node that shuts down', () => {
    const read = new Reading(2);
    read.budget.close();
    for (const target of [0, 1]) read.describes(target, red);
    expect(read.heard).toEqual(['ShuttingDown', 'ShuttingDown']);
  });

  it('release the budget to a waiting read once no fetch is under way; later descriptions are ignored', () => {
    const read = new Reading(4);
    for (const target of [0, 1]) read.describes(target, red);
    read.large.spare();
    const other = new ReadShare(read.budget, nothing, nothing);
    other.enter(100);
    expect([read.hasLetGo, other.waits]).toEqual([false, true]);
    read.large.arrived(0, undefined, red);
    read.large.spare();
    expect([read.hasLetGo, other.waits, read.budget.heldBytes]).toEqual([true, false, 100]);
    read.describes(2, green);
    expect([read.asked, read.heard.slice(2)]).toEqual([[0], [undefined, undefined]]);
  });

  it('do not release the budget while an object described late is fetched', () => {
    const read = new Reading(3);
    read.describes(0, red);
    read.large.arrived(0, undefined, red);
    read.large.spare();
    read.describes(1, green);
    const other = new ReadShare(read.budget, nothing, nothing);
    other.enter(100);
    expect([read.hasLetGo, other.waits]).toEqual([false, true]);
  });

  it('in any order of events, each target gets one outcome: its object, or a failure if no target sent it', () => {
    const objects = ['aa', 'bb', 'ccc'].map((text) => Buffer.from(text));
    const target = fc.record({ object: fc.nat(2), own: fc.boolean(), fails: fc.boolean() });
    const scene = fc.record({
      targets: fc.array(target, { minLength: 1, maxLength: 5 }),
      order: fc.array(fc.nat(9), { maxLength: 40 }),
      others: fc.nat(100),
    });
    fc.assert(
      fc.property(scene, ({ targets, order, others }) => {
        const read = new Reading(targets.length);
        const other = new ReadShare(read.budget, nothing, nothing);
        other.enter(others);
        const silentOnes = targets.map((_, index) => index);
        const answered = new Set<number>();
        const answer = (index: number): void => {
          answered.add(index);
          const { object = 0, fails = false } = targets[index] ?? {};
          read.large.arrived(index, fails ? broken : undefined, fails ? undefined : objects[object]);
        };
        const act = (choice: number): void => {
          const open = read.asked.filter((index) => !answered.has(index));
          const [fetched] = open.splice(choice % Math.max(1, open.length), 1);
          if (choice % 3 === 0 && silentOnes.length > 0) {
            const [next = 0] = silentOnes.splice(choice % silentOnes.length, 1);
            const one = targets[next];
            const object = objects[one?.object ?? 0] ?? Buffer.alloc(0);
            // A node has only one own copy.
            const own = one?.own === true && targets.findIndex(({ own: it }) => it) === next;
            read.large.described(next, object.length, own ? undefined : digestOf(object));
          } else if (choice % 3 === 1 && fetched !== undefined) answer(fetched);
          else if (choice === 8) read.clock.advance(patienceUs / 10);
          else if (choice === 5) other.leave();
        };
        for (const choice of order) act(choice);
        other.leave();
        for (let round = 0; round < 10; round++) for (const choice of [0, 1]) act(choice);
        const sent = new Set(
          read.asked
            .filter((index) => targets[index]?.fails === false)
            .map((index) => targets[index]?.object),
        );
        for (const [index, { object, fails }] of targets.entries()) {
          const had = objects[object]?.toString();
          const heard = read.heard[index];
          if (heard === had) expect(sent).toContain(object);
          else expect([heard, fails]).toEqual(['StorageFailed', true]);
        }
        expect([read.budget.heldBytes, read.budget.waiting]).toEqual([0, 0]);
      }),
    );
  });
});
