import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { LockstepError } from '../base/errors.ts';
import { ReadBudget, ReadShare } from './read-budget.ts';

const silent = { enabled: () => false, event: () => undefined };

type Hook = (read: Read) => void;

/** A read and what the budget told it. */
class Read {
  readonly share: ReadShare;
  readonly told: (string | undefined)[] = [];
  hasLetGo = false;

  constructor(budget: ReadBudget, onTold: Hook = () => undefined, onLetGo: Hook = () => undefined) {
    const told = (error: LockstepError | undefined): void => {
      this.told.push(error?.code);
      onTold(this);
    };
    this.share = new ReadShare(budget, told, () => {
      this.hasLetGo = true;
      onLetGo(this);
      this.share.leave();
    });
  }

  get isIn(): boolean {
    return this.told.length === 1 && this.told[0] === undefined;
  }
}

function entering(budget: ReadBudget, ...bytes: readonly number[]): readonly Read[] {
  return bytes.map((one) => {
    const read = new Read(budget);
    read.share.enter(one);
    return read;
  });
}

describe('the read budget', () => {
  it('admits what fits, and the others in order of arrival', () => {
    const budget = new ReadBudget(silent, 10);
    const [first, second, third] = entering(budget, 6, 5, 1);
    expect([first?.isIn, second?.isIn, third?.isIn]).toEqual([true, false, false]);
    expect([budget.heldBytes, budget.waiting]).toEqual([6, 2]);
    first?.share.leave();
    expect([second?.isIn, third?.isIn]).toEqual([true, true]);
    expect([budget.heldBytes, budget.waiting]).toEqual([6, 0]);
  });

  it('admits a read larger than the whole budget, alone', () => {
    const budget = new ReadBudget(silent, 10);
    const [small, huge, last] = entering(budget, 1, 11, 1);
    expect(huge?.isIn).toBe(false);
    small?.share.leave();
    expect([huge?.isIn, last?.isIn]).toEqual([true, false]);
    huge?.share.leave();
    expect(last?.isIn).toBe(true);
  });

  it('admits no read before the bytes added by grow are returned too', () => {
    const budget = new ReadBudget(silent, 10);
    const [first, second] = entering(budget, 5, 5);
    first?.share.grow(1);
    const [third] = entering(budget, 5);
    second?.share.leave();
    expect([budget.heldBytes, third?.isIn]).toEqual([6, false]);
    first?.share.leave();
    expect([budget.heldBytes, third?.isIn]).toEqual([5, true]);
  });

  it('admits the read behind one that stops waiting', () => {
    const budget = new ReadBudget(silent, 10);
    const [, second, third] = entering(budget, 6, 9, 4);
    second?.share.leave();
    expect(third?.isIn).toBe(true);
    expect(second?.told).toEqual([]);
  });

  it('refuses waiting and later reads once closed; admitted reads return their bytes', () => {
    const budget = new ReadBudget(silent, 10);
    const [first, second] = entering(budget, 6, 6);
    budget.close();
    const [third] = entering(budget, 1);
    expect([first?.told, second?.told, third?.told]).toEqual([
      [undefined],
      ['ShuttingDown'],
      ['ShuttingDown'],
    ]);
    for (const read of [first, second, third]) read?.share.leave();
    expect([budget.heldBytes, budget.waiting]).toEqual([0, 0]);
  });

  it('holds nothing of a read that has left, however often it leaves or grows', () => {
    const budget = new ReadBudget(silent, 10);
    const [first] = entering(budget, 6);
    for (let time = 0; time < 3; time++) {
      first?.share.leave();
      first?.share.grow(1);
    }
    expect(budget.heldBytes).toBe(0);
  });

  it('takes shares that can be given up, the earliest first, only when another read waits', () => {
    const budget = new ReadBudget(silent, 10);
    const [first, second, third] = entering(budget, 3, 3, 3);
    for (const read of [first, second, third]) read?.share.spare(true);
    second?.share.spare(false);
    const [small] = entering(budget, 1);
    expect([first?.hasLetGo, small?.isIn]).toEqual([false, true]);
    const [large] = entering(budget, 7);
    expect([first?.hasLetGo, third?.hasLetGo, large?.isIn]).toEqual([true, true, false]);
    expect(budget.heldBytes).toBe(3 + 1);
    second?.share.spare(true);
    expect([second?.hasLetGo, large?.isIn, budget.heldBytes]).toEqual([true, true, 1 + 7]);
  });

  it('does not recurse for many reads that end within their admission', () => {
    const budget = new ReadBudget(silent, 10);
    const [first] = entering(budget, 6);
    let over = 0;
    const brief = (read: Read): void => {
      over += 1;
      read.share.leave();
    };
    for (let count = 0; count < 50_000; count++) new Read(budget, brief).share.enter(6);
    first?.share.leave();
    expect([over, budget.heldBytes, budget.waiting]).toEqual([50_000, 0, 0]);
  });

  it('is a queue: admitted reads fit or one is alone, and the first waiting read does not fit', () => {
    const bytesMax = 10;
    const step = fc.oneof(
      fc.record({ kind: fc.constant('enter' as const), bytes: fc.integer({ min: 1, max: 14 }) }),
      fc.record({ kind: fc.constant('leave' as const), which: fc.nat(20) }),
      fc.record({ kind: fc.constant('grow' as const), which: fc.nat(20), bytes: fc.nat(5) }),
      fc.record({ kind: fc.constant('spare' as const), which: fc.nat(20) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new ReadBudget(silent, bytesMax);
        const queue: Read[] = [];
        const inside: Read[] = [];
        const spared = new Set<Read>();
        const admitted = (read: Read): void => {
          expect(queue[0]).toBe(read);
          queue.shift();
          const others = inside.reduce((sum, { share }) => sum + share.bytes, 0);
          expect(others === 0 || others + read.share.bytes <= bytesMax).toBe(true);
          inside.push(read);
        };
        const letGo = (read: Read): void => {
          expect(spared.delete(read)).toBe(true);
          inside.splice(inside.indexOf(read), 1);
        };
        const leave = (read: Read | undefined): void => {
          if (read === undefined) return;
          spared.delete(read);
          for (const list of [queue, inside]) if (list.includes(read)) list.splice(list.indexOf(read), 1);
          read.share.leave();
        };
        for (const one of steps) {
          if (one.kind === 'enter') {
            const read = new Read(budget, admitted, letGo);
            queue.push(read);
            read.share.enter(one.bytes);
          } else if (one.kind === 'leave') {
            const all = [...inside, ...queue];
            leave(all[one.which % Math.max(1, all.length)]);
          } else if (one.kind === 'spare') {
            const read = inside[one.which % Math.max(1, inside.length)];
            if (read !== undefined) spared.add(read);
            read?.share.spare(true);
          } else {
            inside[one.which % Math.max(1, inside.length)]?.share.grow(one.bytes);
          }
          const heldBytes = inside.reduce((sum, { share }) => sum + share.bytes, 0);
          expect([budget.heldBytes, budget.waiting]).toEqual([heldBytes, queue.length]);
          const [first] = queue;
          if (first !== undefined)
            expect([heldBytes > 0 && heldBytes + first.share.bytes > bytesMax, spared.size]).toEqual([
              true,
              0,
            ]);
        }
        for (const read of [...queue, ...inside]) leave(read);
        while (inside.length > 0) leave(inside[0]);
        expect([budget.heldBytes, budget.waiting]).toEqual([0, 0]);
      }),
    );
  });
});
