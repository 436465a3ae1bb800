import { describe, expect, it } from 'vitest';

import type { ByDatacenter, Operation } from '../../evidence/history.ts';
import type { DiskLosses } from './disk-losses.ts';
import { diskLossesOf, wholeDisks } from './disk-losses.ts';
import { checkDurability } from './durability.ts';
import { pruningsOf } from '../../evidence/prunings.ts';
import { syncLagOf } from '../../evidence/sync-lag.ts';
import { deleteAt, newestWins, putAt, readAt } from '../history-fixture.ts';

const final = { final: true } as const;

function broken(history: readonly Operation[]): string | undefined {
  return checkDurability(history).firstBad?.text;
}

describe('durability, a bucket with siblings', () => {
  it('accepts a write that the read shows', () => {
    const report = checkDurability([putAt(10, 'a'), readAt(20, ['a'], final)]);
    expect(report).toMatchObject({ ok: true, checked: 3 });
  });

  it('accuses a lost write (negative control)', () => {
    expect(broken([putAt(10, 'a'), readAt(20, [], final)])).toContain('an acknowledged write is lost');
    expect(broken([putAt(10, 'a'), putAt(12, 'b'), readAt(20, ['b'], final)])).toContain('#10');
  });

  it('accepts a write replaced by one that had seen it, over any number of steps', () => {
    const history = [
      putAt(10, 'a'),
      readAt(20, ['a']),
      putAt(30, 'b', { contextFrom: 20 }),
      readAt(40, ['b']),
      putAt(50, 'c', { contextFrom: 40 }),
      readAt(60, ['c'], final),
    ];
    expect(checkDurability(history).ok).toBe(true);
  });

  it('accuses a replaced value that comes back (negative control)', () => {
    const history = [putAt(10, 'a'), readAt(20, ['a']), putAt(30, 'b', { contextFrom: 20 })];
    expect(broken([...history, readAt(40, ['a', 'b'], final)])).toContain('a replaced value is back');
    expect(broken([...history, readAt(40, ['a'], final)])).toContain('a replaced value is back');
  });

  it('accuses a value that is back after an acknowledged deletion (negative control)', () => {
    const history = [putAt(10, 'a'), readAt(20, ['a']), deleteAt(30, { contextFrom: 20 })];
    expect(broken([...history, readAt(40, ['a'], final)])).toContain('a replaced value is back');
    expect(checkDurability([...history, readAt(40, [], final)]).ok).toBe(true);
  });

  it('counts the copies of the datacenter in which a read and a write meet', () => {
    const far = { datacenter: 'dc2', copies: 5, need: 3 };
    const verdictOf = (written: ByDatacenter, read: ByDatacenter): boolean => {
      const history = [putAt(10, 'a', { far: written }), readAt(20, [], { ...far, far: read })];
      return checkDurability([...history, readAt(30, ['a'], final)]).ok;
    };
    expect([verdictOf({}, { dc1: 1 }), verdictOf({}, { dc1: 2 })]).toEqual([true, false]);
    expect([verdictOf({ dc2: 2 }, {}), verdictOf({ dc2: 3 }, {})]).toEqual([true, false]);
  });

  it('accepts a write of unknown outcome both ways', () => {
    const unsure = putAt(10, 'a', { outcome: 'unknown', completedUs: undefined });
    expect(checkDurability([unsure, readAt(20, ['a'], final)]).ok).toBe(true);
    expect(checkDurability([unsure, readAt(20, [], final)]).ok).toBe(true);
  });

  it('accuses a value whose write was certainly refused, and one that no client wrote (negative control)', () => {
    const refused = putAt(10, 'a', { outcome: 'fail' });
    expect(broken([refused, readAt(20, ['a'], final)])).toContain('told that it did not happen');
    expect(broken([readAt(20, ['ghost'], final)])).toContain('which no client wrote');
  });

  it('accuses a deletion of hiding only what it cannot have seen (negative control)', () => {
    const tooEarly = [readAt(5, []), deleteAt(10, { contextFrom: 5 }), putAt(20, 'a'), readAt(30, [], final)];
    expect(broken(tooEarly)).toContain('an acknowledged write is lost');
  });

  it('accepts what a deletion hides that its client has given up, however late', () => {
    const after = [putAt(20, 'a'), readAt(30, [], final)];
    expect(checkDurability([deleteAt(10, { outcome: 'unknown' }), ...after]).ok).toBe(true);
    expect(broken([deleteAt(10), ...after])).toContain('an acknowledged write is lost');
  });

  it('skips pairs whose quorums need not meet', () => {
    const report = checkDurability([
      putAt(10, 'a', { need: 1 }),
      readAt(20, []),
      readAt(30, ['a'], { need: 3, final: true }),
    ]);
    expect(report).toMatchObject({ ok: true, skipped: 1 });
  });

  it('does not expect a write in a read that began before its acknowledgement', () => {
    expect(checkDurability([readAt(10, []), putAt(10.5, 'a'), readAt(20, ['a'], final)]).ok).toBe(true);
  });

  it('accuses a key that cannot be read after the calm (negative control)', () => {
    const failed = readAt(20, [], { final: true, outcome: 'fail', reason: 'NoQuorum' });
    expect(broken([putAt(10, 'a'), failed])).toContain('cannot be read after the calm');
  });

  it('excuses a key that damaged disks may have lost, but not one of which enough of them hold a value', () => {
    const history = [putAt(10, 'a'), readAt(20, [], { ...final, outcome: 'fail' })];
    const damaged = (healed: boolean, intact: number): DiskLosses => {
      const losses = ['n1', 'n2', 'n3'].map((node) => ({ node, atUs: 15 }));
      return diskLossesOf(losses, healed, () => intact);
    };
    expect(checkDurability(history, damaged(true, 0)).ok).toBe(true);
    expect(checkDurability(history, damaged(false, 3)).ok).toBe(true);
    expect(checkDurability(history, damaged(true, 3)).firstBad?.text).toContain(
      'cannot be read after the calm',
    );
  });
});

describe('durability, records that rotted', () => {
  const rotten = (...nodes: readonly string[]): DiskLosses =>
    diskLossesOf(
      nodes.map((node) => ({ node, atUs: 15, noticed: true })),
      false,
    );
  const repaired = readAt(40, ['a'], final);
  const absent = [putAt(10, 'a'), readAt(20, []), repaired];

  it('accuses an absence that a node answers although it knows of its loss (negative control)', () => {
    expect(checkDurability(absent, rotten('n1')).firstBad?.text).toContain('an acknowledged write is lost');
  });

  it('excuses a loss that the node cannot know of, and one of all copies', () => {
    expect(checkDurability(absent, diskLossesOf([{ node: 'n1', atUs: 15 }], false)).ok).toBe(true);
    expect(checkDurability(absent, rotten('n1', 'n2')).ok).toBe(true);
  });

  it('excuses an older version or a newer write that has taken the place of the lost one', () => {
    const older = [putAt(5, 'b'), putAt(10, 'a'), readAt(20, ['b']), readAt(40, ['a', 'b'], final)];
    expect(checkDurability(older, rotten('n1')).ok).toBe(true);
  });
});

describe('durability, a bucket without siblings', () => {
  it('accepts the newer of two concurrent writes, whichever it is', () => {
    for (const winner of ['a', 'b']) {
      const history = newestWins([putAt(10, 'a'), putAt(10.5, 'b'), readAt(20, [winner], final)]);
      expect(checkDurability(history).ok).toBe(true);
    }
  });

  it('accuses an ancestor that outlives an acknowledged write (negative control)', () => {
    const history = [
      putAt(10, 'a'),
      readAt(20, ['a']),
      putAt(30, 'b', { contextFrom: 20 }),
      readAt(40, ['a'], final),
    ];
    expect(broken(newestWins(history))).toContain('a replaced value is back');
  });

  it('accuses an empty key without a deletion (negative control)', () => {
    expect(broken(newestWins([putAt(10, 'a'), readAt(20, [], final)]))).toContain(
      'an acknowledged write is lost',
    );
    expect(checkDurability(newestWins([putAt(10, 'a'), deleteAt(12), readAt(20, [], final)])).ok).toBe(true);
  });
});

describe('durability, nodes that sync late', () => {
  const ms = 1_000;
  const lag = (lives: Parameters<typeof syncLagOf>[1]): DiskLosses =>
    diskLossesOf([], false, () => 0, syncLagOf({ sync: 100 }, lives));
  const alone = { need: 1, copies: 1 };
  const history = [putAt(10 * ms, 'a', alone), readAt(900 * ms, [], { ...final, ...alone })];

  it('a power loss excuses what was acknowledged shortly before, and nothing older', () => {
    const lost = { node: 'n1', lostUnsynced: true };
    expect(checkDurability(history, lag([{ ...lost, atUs: 150 * ms }])).ok).toBe(true);
    expect(checkDurability(history, lag([{ ...lost, atUs: 500 * ms }])).ok).toBe(false);
  });

  it('a process that dies loses nothing, unless the power fails before the next one has synced', () => {
    const died = { node: 'n1', atUs: 50 * ms };
    expect(checkDurability(history, lag([died])).ok).toBe(false);
    const lost = { node: 'n1', atUs: 500 * ms, lostUnsynced: true };
    expect(checkDurability(history, lag([died, lost])).ok).toBe(true);
  });
});

describe('durability, where contexts are pruned', () => {
  const coordinated = new Map([
    ['a', { actor: 'n1.aa', counter: 5 }],
    ['b', { actor: 'n2.bb', counter: 9 }],
  ]);
  /** Puts `a`, and `b` over it. */
  const replaced = [putAt(10, 'a'), readAt(20, ['a']), putAt(30, 'b', { contextFrom: 20 })];
  const deleted = [putAt(10, 'a'), readAt(20, ['a']), deleteAt(30, { contextFrom: 20 })];

  /** At 40 n2 prunes the entry of `a`'s coordinator up to `counter`. */
  function complaint(history: readonly Operation[], counter = 5, actor = 'n1.aa'): string | undefined {
    const entry = { node: 'n2', key: 'b/k', actor, counter, atUs: 40 };
    return checkDurability(history, wholeDisks, pruningsOf([entry], coordinated)).firstBad?.text;
  }

  it('a replaced value may be back beside its replacement, or after its deletion', () => {
    expect(complaint([...replaced, readAt(50, ['a', 'b'], final)])).toBeUndefined();
    expect(complaint([...deleted, readAt(50, ['a'], final)])).toBeUndefined();
  });

  it('it may not be back before, nor where another entry was pruned (negative control)', () => {
    const back = 'a replaced value is back';
    expect(complaint([...replaced, readAt(35, ['a', 'b'], final)])).toContain(back);
    expect(complaint([...replaced, readAt(50, ['a', 'b'], final)], 4)).toContain(back);
    expect(complaint([...replaced, readAt(50, ['a', 'b'], final)], 9, 'n2.bb')).toContain(back);
  });

  it('its replacement does not vanish, nor a sibling that nothing has replaced (negative control)', () => {
    const lost = 'an acknowledged write is lost';
    expect(complaint([...replaced, readAt(50, ['a'], final)])).toContain(lost);
    expect(complaint([...replaced, putAt(45, 'c'), readAt(50, ['b'], final)])).toContain(lost);
    expect(complaint([putAt(10, 'a'), putAt(30, 'b'), readAt(50, ['b'], final)])).toContain(lost);
  });

  it('no value is there that no client wrote (negative control)', () => {
    expect(complaint([...replaced, readAt(50, ['b', 'z'], final)])).toContain('which no client wrote');
  });
});
