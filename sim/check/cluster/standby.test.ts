/** Tests `standby-routing`: the check accepts correct evidence and rejects each kind of violation. */
import { describe, expect, it } from 'vitest';

import { putAt, readAt } from '../history-fixture.ts';
import { Opinions } from '../../evidence/opinions.ts';
import type { ReadAnswer } from '../../evidence/read-answers.ts';
import type { StandbyTruth } from './standby.ts';
import { checkStandby } from './standby.ts';

const second = 1_000_000;
const nodes = ['n1', 'n2', 'n3'];

function opinionsOf(observer: string, standbyUs = second): Opinions {
  const moves = nodes
    .filter((peer) => peer !== observer)
    .map((peer) => ({ observer, life: 1, peer, from: 'UNKNOWN', to: 'NORMAL', atUs: 1 }));
  const gone = { observer, life: 1, peer: 'n3', from: 'NORMAL', to: 'STANDBY', atUs: standbyUs };
  return new Opinions([...moves, gone]);
}

/** n3 is in STANDBY from 1 s to 9 s, n1 reads at 5 s. */
const truth: StandbyTruth = {
  history: [readAt(5 * second, ['a'])],
  answers: [],
  opinions: opinionsOf('n1'),
  periods: [{ node: 'n3', fromUs: second, toUs: Infinity }],
  troubles: [],
  nodes,
};

function answer(askedUs: number, peer = 'n3'): ReadAnswer {
  return { key: 'b/k', node: 'n1', peer, askedUs, heardUs: askedUs + 1 };
}

function verdict(over: Partial<StandbyTruth>): readonly [boolean, number, number] {
  const { ok, checked, skipped } = checkStandby({ ...truth, ...over });
  return [ok, checked, skipped];
}

describe('standby-routing', () => {
  it('holds where the others answered the read', () => {
    expect(verdict({ answers: [answer(5 * second, 'n2')] })).toEqual([true, 1, 1]);
  });

  it('breaks over an unnecessary read from a node in STANDBY', () => {
    expect(verdict({ answers: [answer(5 * second)] })).toEqual([false, 1, 1]);
  });

  it('excuses it where the others are too few, differ, or something is wrong', () => {
    const answers = [answer(5 * second)];
    for (const history of [[readAt(5 * second, [], { need: 3 })], [readAt(5 * second, [], { agree: true })]])
      expect(verdict({ answers, history })).toEqual([true, 0, 2]);
    const trouble = { node: 'n2', fromUs: 4 * second, toUs: 4 * second, away: false };
    expect(verdict({ answers, troubles: [trouble] })).toEqual([true, 0, 2]);
    expect(verdict({ answers, troubles: [{ ...trouble, fromUs: 0, toUs: 2 * second }] })).toEqual([
      false,
      1,
      1,
    ]);
    const down = { observer: 'n1', life: 1, peer: 'n2', from: 'NORMAL', to: 'DOWN', atUs: 2 * second };
    const opinions = new Opinions([...opinionsOf('n1').moves, down]);
    expect(verdict({ answers, opinions })).toEqual([true, 0, 2]);
  });

  it('skips a coordinator that does not know of STANDBY yet, or no longer', () => {
    expect(verdict({ answers: [answer(5 * second)], opinions: opinionsOf('n1', 6 * second) })).toEqual([
      true,
      0,
      1,
    ]);
  });

  it('breaks over an answer of the node itself to a client', () => {
    const asked = { node: 'n3', reason: 'Standby' } as const;
    expect(verdict({ history: [putAt(5 * second, 'a', { ...asked, outcome: 'fail' })] })).toEqual([
      true,
      1,
      1,
    ]);
    expect(verdict({ history: [putAt(5 * second, 'a', asked)] })).toEqual([false, 1, 1]);
    expect(verdict({ history: [putAt(second - 1, 'a', asked)] })).toEqual([true, 0, 1]);
  });

  it('breaks where the node answers nothing any more after its return', () => {
    const periods = [{ node: 'n3', fromUs: second, toUs: 6 * second }];
    const history = [readAt(8 * second, ['a'], { need: 3 })];
    expect(verdict({ periods, history })).toEqual([false, 1, 1]);
    expect(verdict({ periods, history, answers: [answer(9 * second)] })).toEqual([true, 1, 1]);
    const refused = putAt(8 * second, 'a', { node: 'n3', outcome: 'fail' });
    expect(verdict({ periods, history: [refused] })).toEqual([false, 1, 0]);
    const served = readAt(8 * second, [], { node: 'n3' });
    expect(verdict({ periods, history: [served] })).toEqual([true, 1, 0]);
  });

  it('demands no answer of a node that nothing asks after its return', () => {
    const periods = [{ node: 'n3', fromUs: second, toUs: 6 * second }];
    expect(verdict({ periods })).toEqual([true, 1, 1]);
    expect(verdict({ periods, history: [readAt(8 * second, ['a'])] })).toEqual([true, 1, 1]);
  });

  it('demands no answer of a node that is away for good when it is asked', () => {
    const periods = [{ node: 'n3', fromUs: second, toUs: 6 * second }];
    const history = [readAt(8 * second, ['a'], { need: 3 })];
    const replaced = { node: 'n3', fromUs: 7 * second, toUs: Infinity, away: true };
    const verdictOf = (trouble: typeof replaced): boolean =>
      verdict({ periods, history, troubles: [trouble] })[0];
    expect(verdictOf(replaced)).toBe(true);
    expect(verdictOf({ ...replaced, toUs: 7 * second })).toBe(false);
    expect(verdictOf({ ...replaced, away: false })).toBe(false);
    expect(verdictOf({ ...replaced, node: 'n2' })).toBe(false);
  });

  it('demands no answer of a node whose disk may have lost that it was in STANDBY', () => {
    const periods = [{ node: 'n3', fromUs: second, toUs: 6 * second, forgotten: true }] as const;
    expect(verdict({ periods })).toEqual([true, 1, 1]);
  });
});
