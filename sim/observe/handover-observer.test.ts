import { describe, expect, it } from 'vitest';

import { present } from '../../engine/base/assert.ts';
import type { NodeId, Token } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { Ring } from '../../engine/cluster/ring/ring.ts';
import { FlushHistory } from './flush-history.ts';
import { HandoverObserver } from './handover-observer.ts';
import type { HeldCopy } from './object-observer.ts';

const key = 'k' as PackedKey;
const object: StoredObject = { siblings: [], context: [] };
const members = ['n1', 'n2', 'n3'].map((node, index) => ({
  node: node as NodeId,
  datacenter: 'dc1',
  rack: `r${index + 1}`,
  tokens: [(index + 1) as Token],
}));
const n1 = present(members[0], 'a member');
const ring = new Ring(members);

function watched(
  holders: ReadonlyMap<string, number>,
  forgetful: ReadonlySet<string> = new Set(['n1']),
): {
  readonly observer: HandoverObserver;
  clock: number;
} {
  const copyAt = (node: string): HeldCopy | undefined => {
    const atUs = holders.get(node);
    return atUs === undefined ? undefined : { object, token: 1, atUs };
  };
  const copies = {
    *copies(): Generator<readonly [string, PackedKey, HeldCopy]> {
      for (const [node, atUs] of holders) yield [node, key, { object, token: 1, atUs }];
    },
    copyAt,
    flushes: new FlushHistory(),
    has: (node: string): 'all' | 'too few' => (holders.has(node) ? 'all' : 'too few'),
  };
  const state = { clock: 0 };
  const observer = new HandoverObserver(() => state.clock, copies, forgetful);
  return Object.assign(state, { observer });
}

/** When the other owners held what the member lacks: before it started. */
const heldEarly = new Map([
  ['n2', 5],
  ['n3', 6],
]);

/** It takes the place of n3 in its rack. */
const joining = { node: 'n4' as NodeId, datacenter: 'dc1', rack: 'r3', tokens: [2 as Token] };

describe('a member that has joined', () => {
  it('leaves no majority without what a majority held throughout', () => {
    for (const [n4AtUs, n3AtUs, lost] of [
      [undefined, 5, 1],
      [15, 5, 0],
      // A single owner held it, or one of two only since the move began.
      [undefined, undefined, 0],
      [undefined, 12, 0],
    ] as const) {
      const held = Object.entries({ n2: 5, n3: n3AtUs, n4: n4AtUs });
      const holders = new Map(held.flatMap(([node, atUs]) => (atUs === undefined ? [] : [[node, atUs]])));
      const run = watched(holders, new Set());
      run.clock = 10;
      run.observer.began('n4');
      run.clock = 20;
      run.observer.ended(joining, ring);
      expect(run.observer.records.lost).toHaveLength(lost);
    }
  });
});

describe('an owner whose store has failed', () => {
  it('need not give what its failed sync was for, until it starts again', () => {
    for (const [writtenUs, restarts, lost] of [
      [5, false, 0],
      [3, false, 1],
      [5, true, 1],
    ] as const) {
      const run = watched(
        new Map([
          ['n2', writtenUs],
          ['n3', writtenUs],
        ]),
        new Set(),
      );
      run.observer.failed('n2', 3);
      if (restarts) run.observer.started('n2');
      run.clock = 10;
      run.observer.began('n4');
      run.clock = 20;
      run.observer.ended(joining, ring);
      expect(run.observer.records.lost).toHaveLength(lost);
    }
  });
});

describe('a member that has rebuilt its disk', () => {
  it('lacks what the other owners have held since before it started', () => {
    const run = watched(heldEarly);
    run.clock = 10;
    run.observer.started('n1');
    run.clock = 20;
    run.observer.rebuilt(n1, ring);
    expect(run.observer.records.lost).toHaveLength(1);
  });

  it('is judged again by the ring that follows, and not before it has rebuilt', () => {
    const run = watched(heldEarly);
    run.clock = 10;
    run.observer.started('n1');
    run.observer.ringChanged(n1, ring);
    expect(run.observer.records.compared).toBe(0);
    run.observer.rebuilt(n1, ring);
    run.observer.ringChanged(n1, ring);
    expect(run.observer.records).toMatchObject({ compared: 2 });
  });

  it('need not have what was written since it started, or what another owner lacks', () => {
    for (const holders of [
      new Map([
        ['n2', 5],
        ['n3', 15],
      ]),
      new Map([['n2', 5]]),
    ]) {
      const run = watched(holders);
      run.clock = 10;
      run.observer.started('n1');
      run.clock = 20;
      run.observer.rebuilt(n1, ring);
      expect(run.observer.records).toEqual({ compared: 0, skipped: 0, lost: [] });
    }
  });

  it('lacks what a majority of another datacenter has held, whichever of its owners holds it', () => {
    const far = ['n4', 'n5', 'n6'].map((node, index) => ({
      node: node as NodeId,
      datacenter: 'dc2',
      rack: `r${index + 1}`,
      tokens: [(index + 4) as Token],
    }));
    for (const [held, lost] of [
      [{ n5: 5, n6: 6 }, 2],
      [{ n5: 5, n6: 6, n1: 12 }, 0],
      // One of three, and two of which one holds it only since the start.
      [{ n6: 6 }, 0],
      [{ n5: 5, n6: 15 }, 0],
    ] as const) {
      const run = watched(new Map(Object.entries(held)));
      run.clock = 10;
      run.observer.started('n1');
      run.clock = 20;
      run.observer.rebuilt(n1, new Ring([n1, ...far]));
      expect(run.observer.records.lost).toHaveLength(lost);
    }
  });

  it('holds what it has read back', () => {
    const run = watched(
      new Map([
        ['n1', 12],
        ['n2', 5],
        ['n3', 6],
      ]),
    );
    run.clock = 10;
    run.observer.started('n1');
    run.observer.rebuilt(n1, ring);
    expect(run.observer.records).toEqual({ compared: 1, skipped: 0, lost: [] });
  });
});
