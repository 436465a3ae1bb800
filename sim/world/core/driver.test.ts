import { describe, expect, it } from 'vitest';

import type { Driven } from './driver.ts';
import { drive } from './driver.ts';

/** Takes a step for each act, then ends; records what was reported. */
function acts(all: readonly (() => void)[], heard: unknown[]): Driven {
  let next = 0;
  return {
    step: () => {
      heard.push(next);
      all[next]?.();
      next += 1;
      return next <= all.length;
    },
    outside: () => undefined,
    unhandled: (reason) => heard.push(reason),
  };
}

/** Nested promise reactions, and a tick among them. */
async function settleSlowly(heard: unknown[], what: string): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  await new Promise<void>((resolve) => {
    process.nextTick(resolve);
  });
  heard.push(what);
}

const ways = [
  { name: 'by the function of Node.js', drive: (driven: Driven) => drive(driven) },
  { name: 'by callbacks of one batch', drive: (driven: Driven) => drive(driven, { settle: undefined }) },
];

describe.each(ways)('what turns the world, $name', ({ drive: turn }) => {
  it('lets everything that a step woke settle before the next', async () => {
    const heard: unknown[] = [];
    const woken: Promise<void>[] = [];
    const act = (): void => void woken.push(settleSlowly(heard, 'settled'));
    await turn(acts([act, act, act], heard));
    expect(heard).toEqual([0, 'settled', 1, 'settled', 2, 'settled', 3]);
  });

  it('reports a rejection that nobody handled before the next step', async () => {
    const heard: unknown[] = [];
    const rejected: Promise<never>[] = [];
    const reject = (): void => void rejected.push(Promise.reject(new Error('nobody')));
    const heardOf: Promise<void>[] = [];
    const handle = (): void => {
      for (const one of rejected) heardOf.push(one.catch(() => undefined));
    };
    await turn(acts([reject, handle], heard));
    expect(heard).toEqual([0, new Error('nobody'), 1, 2]);
  });

  it('announces when the machine is polled, which is never while a step settles', async () => {
    const heard: string[] = [];
    let outside = true;
    let steps = 0;
    const woken: Promise<void>[] = [];
    const settle = async (): Promise<void> => {
      for (let count = 0; count < 3; count++) await Promise.resolve();
      if (outside) heard.push('settled outside');
    };
    await turn({
      step: () => {
        if (outside) heard.push('stepped outside');
        woken.push(settle());
        steps += 1;
        return steps < 1000;
      },
      outside: (is) => {
        outside = is;
        if (is) heard.push('looked');
      },
      unhandled: () => undefined,
    });
    expect([...new Set(heard)]).toEqual(['looked']);
  });

  it('rejects when a step throws, and takes no other', async () => {
    const listeners = process.listenerCount('unhandledRejection');
    let steps = 0;
    const driven = {
      step: () => {
        steps += 1;
        if (steps === 3) throw new Error('a step that nobody foresaw');
        return true;
      },
      outside: () => undefined,
      unhandled: () => undefined,
    };
    await expect(turn(driven)).rejects.toThrow('a step that nobody foresaw');
    expect(steps).toBe(3);
    expect(process.listenerCount('unhandledRejection')).toBe(listeners);
  });
});

describe('Node.js', () => {
  it('has the function', () => {
    expect(process).toHaveProperty('_tickCallback', expect.any(Function));
  });
});
