/** Tests the checks of the cluster layer: each accepts correct evidence and rejects the faults that it must detect. */
import { describe, expect, it } from 'vitest';

import { diskLossesOf, wholeDisks } from './objects/disk-losses.ts';
import { checkDots } from './disks/dots.ts';
import type { DetectorTruth } from './cluster/failure-detector.ts';
import { checkDetector } from './cluster/failure-detector.ts';
import { checkHints } from './disks/hints.ts';
import { pruningsOf } from '../evidence/prunings.ts';
import type { Operation } from '../evidence/history.ts';
import { deleteAt, newestWins, putAt, readAt } from './history-fixture.ts';
import { checkIdentity } from './cluster/identity.ts';
import { checkQuiet } from './cluster/quiet.ts';
import type { OpinionMove } from '../evidence/opinions.ts';
import { Opinions } from '../evidence/opinions.ts';
import type { ReadAnswer } from '../evidence/read-answers.ts';
import { checkQuorums } from './objects/quorums.ts';
import { checkReadMemory } from './bounds/read-memory.ts';
import type { CheckReport } from './report.ts';
import { checkSessions } from './objects/sessions.ts';

function verdict({ ok, checked, skipped }: CheckReport): readonly [boolean, number, number] {
  return [ok, checked, skipped];
}

function move(atUs: number, from: string, to: string, life = 1): OpinionMove {
  return { observer: 'n1', life, peer: 'n2', from, to, atUs };
}

describe('causality', () => {
  it('adds up what the disks showed, and breaks over a dot used twice and over a value forgotten', () => {
    const fine = { compared: 5, skipped: 1, reused: [], lost: [], twice: [] };
    const bad = [{ atUs: 3, text: 'twice' }];
    expect(verdict(checkDots(fine))).toEqual([true, 5, 1]);
    expect(verdict(checkDots({ ...fine, reused: bad }))).toEqual([false, 5, 1]);
    expect(checkDots({ ...fine, lost: bad }).firstBad?.atUs).toBe(3);
  });
});

describe('quorum-intersection', () => {
  const noOpinions = new Opinions([]);
  const answer: ReadAnswer = { key: 'b/k', node: 'n1', peer: 'n2', askedUs: 10, heardUs: 11 };
  const read = readAt(10, []);

  it('holds when as many replicas answered as were asked for, the node itself among them', () => {
    expect(verdict(checkQuorums([read], [answer], noOpinions, []))).toEqual([true, 1, 0]);
  });

  it('breaks when one replica answered twice, late, or for another key', () => {
    const own = { ...answer, peer: 'n1' };
    const late = { ...answer, heardUs: 12 };
    for (const answers of [[own, own], [late], [{ ...answer, key: 'b/other' }], []]) {
      expect(checkQuorums([read], answers, noOpinions, []).ok).toBe(false);
    }
  });

  it('breaks when a read lacks answers although no fault hinders enough replicas and the node', () => {
    const lacking = (reason: string, tookUs = 500_000): CheckReport['ok'] => {
      const completedUs = read.invokedUs + tookUs;
      const refused: Operation = { ...read, outcome: 'fail', reason, completedUs };
      return checkQuorums([refused], [], noOpinions, [], Infinity, new Set(['n3'])).ok;
    };
    for (const reason of ['503 Timeout request timed out', 'timeout', '{r_val_unsatisfied,2,1}'])
      expect(lacking(reason)).toBe(false);
    expect(lacking('NoQuorum: 1 of 2', 1000)).toBe(false);
    // It stated a time in which not every answer comes.
    expect(lacking('503 Timeout request timed out', 100_000)).toBe(true);
    expect(lacking('Overloaded: too much at once')).toBe(true);
    const late = { completedUs: read.invokedUs + 500_000, reason: 'Timeout: the deadline passed' };
    const timedOut: Operation = { ...read, outcome: 'fail', ...late };
    for (const hindered of [['n1'], ['n2', 'n3']])
      expect(checkQuorums([timedOut], [], noOpinions, [], Infinity, new Set(hindered)).ok).toBe(true);
    expect(checkQuorums([timedOut], [], noOpinions, []).ok).toBe(true);
  });

  it('breaks when a read at a SAFE level is refused although nothing goes wrong any more', () => {
    const reason = 'ReplicasDisagree: the copies of b/k differ';
    const refused: Operation = { ...readAt(20, []), agree: true, outcome: 'fail', reason };
    expect(checkQuorums([refused], [], noOpinions, [], 20).ok).toBe(false);
    expect(checkQuorums([refused], [], noOpinions, [], 21).ok).toBe(true);
    expect(checkQuorums([refused], [], noOpinions, []).ok).toBe(true);
  });

  it('breaks when a write is acknowledged with too few copies in another datacenter', () => {
    const both = putAt(1, 'a', { far: { dc2: 2, dc3: 1 }, farCopies: { dc2: 2, dc3: 1 } });
    expect(verdict(checkQuorums([both], [], noOpinions, []))).toEqual([true, 3, 0]);
    expect(checkQuorums([{ ...both, farCopies: { dc2: 1, dc3: 1 } }], [], noOpinions, []).ok).toBe(false);
  });

  it('breaks when a write is acknowledged with too few copies; deletions and newest-wins are skipped', () => {
    const lone = putAt(1, 'a', { durableCopies: 1 });
    expect(checkQuorums([lone], [], noOpinions, []).ok).toBe(false);
    const skipped = [...newestWins([lone]), deleteAt(2)];
    expect(verdict(checkQuorums(skipped, [], noOpinions, []))).toEqual([true, 0, 2]);
  });

  it('breaks when a refusal names a peer as away that the node called NORMAL', () => {
    const reason = '2 replicas of dc1 are needed and 1 can be reached (away: n2)';
    const refused = putAt(20, 'a', { outcome: 'fail', reason });
    const normal = [move(1, 'UNKNOWN', 'NORMAL')];
    const down = [...normal, move(5, 'NORMAL', 'DOWN')];
    expect(verdict(checkQuorums([refused], [], new Opinions(down), ['n1', 'n2']))).toEqual([true, 1, 0]);
    expect(checkQuorums([refused], [], new Opinions(normal), ['n1', 'n2']).ok).toBe(false);
  });

  it('judges a refusal by its coordinator’s opinions', () => {
    const reason =
      'NoQuorum: n3: the write was refused: 2 replicas of dc1 are needed and 1 can be reached (away: n2)';
    const refused = putAt(20, 'a', { outcome: 'fail', reason });
    const normal = [move(1, 'UNKNOWN', 'NORMAL')];
    const down = [...normal, move(5, 'NORMAL', 'DOWN')];
    const of = (observer: string, moves: readonly OpinionMove[]): OpinionMove[] =>
      moves.map((one) => ({ ...one, observer }));
    const verdictWith = (mine: readonly OpinionMove[], its: readonly OpinionMove[]): boolean => {
      const opinions = new Opinions([...mine, ...of('n3', its)]);
      return checkQuorums([refused], [], opinions, ['n1', 'n2', 'n3']).ok;
    };
    expect(verdictWith(normal, down)).toBe(true);
    expect(verdictWith(down, normal)).toBe(false);
  });

  it('judges a refusal by the opinions of the current incarnation, not of an earlier one', () => {
    const reason = '2 replicas of dc1 are needed and 1 can be reached (away: n2)';
    const refused = putAt(20, 'a', { outcome: 'fail', reason });
    const verdictWith = (moves: readonly OpinionMove[], observer = 'n1'): boolean => {
      const opinions = new Opinions(moves, [{ observer, atUs: 10 }]);
      return checkQuorums([refused], [], opinions, ['n1', 'n2']).ok;
    };
    const before = move(1, 'UNKNOWN', 'NORMAL');
    expect(verdictWith([before])).toBe(true);
    expect(verdictWith([before], 'n3')).toBe(false);
    expect(verdictWith([before, move(15, 'UNKNOWN', 'NORMAL', 2)])).toBe(false);
  });
});

describe('resource-bounds of reads', () => {
  const entry = { node: 'n1', atUs: 1, bytes: 6, heldBytes: 4, bytesMax: 10 };
  const rest = { node: 'n1', atUs: 2, heldBytes: 0 };
  const answer = { node: 'n1', peer: 'n2', atUs: 3, objectBytes: 0, bytesMax: 5 };

  it('holds for what fits or is alone, for nothing held at rest, and for what is described', () => {
    const alone = { ...entry, bytes: 11, heldBytes: 0 };
    expect(verdict(checkReadMemory([entry, alone], [rest], [answer]))).toEqual([true, 4, 0]);
  });

  it('breaks over one read too many, over memory not released, and over a large object sent unasked', () => {
    const bad = [
      checkReadMemory([{ ...entry, heldBytes: 5 }], [], []),
      checkReadMemory([], [{ ...rest, heldBytes: 1 }], []),
      checkReadMemory([], [], [{ ...answer, objectBytes: 6 }]),
    ];
    expect(bad.map(({ firstBad }) => firstBad?.atUs)).toEqual([1, 2, 3]);
  });
});

describe('node-identity', () => {
  const answer = { node: 'n1', peer: 'n2', atUs: 4, life: 'b', newest: 'b' };
  const start = { what: 'a second start', atUs: 5, refused: 'DirectoryLocked', expected: 'DirectoryLocked' };

  it('holds for answers to the newest incarnation and for refused starts', () => {
    expect(verdict(checkIdentity([answer], [start]))).toEqual([true, 2, 0]);
  });

  it('breaks when a node greets with a number that its disk may lose', () => {
    const greeting = { node: 'n1', atUs: 4, generation: 7, durable: 7 };
    const altered = { ...greeting, generation: 8, durable: undefined };
    expect(verdict(checkIdentity([], [], [greeting, altered]))).toEqual([true, 0, 1]);
    expect(checkIdentity([], [], [{ ...greeting, durable: 6 }]).ok).toBe(false);
  });

  it('breaks when an older incarnation is answered, and when a second start serves', () => {
    expect(checkIdentity([{ ...answer, life: 'a' }], []).ok).toBe(false);
    expect(checkIdentity([], [{ ...start, refused: '' }]).ok).toBe(false);
  });
});

describe('session-guarantees', () => {
  it('holds when a client reads what it wrote, or what replaced it', () => {
    const replaced = putAt(20, 'b', { client: 'c1', contextFrom: 10 });
    const history = [putAt(1, 'a'), readAt(10, ['a'], { client: 'c1' }), replaced, readAt(30, ['b'])];
    expect(verdict(checkSessions(history))).toEqual([true, 2, 0]);
  });

  it('breaks when a client misses its own write, or what it was shown before', () => {
    expect(checkSessions([putAt(1, 'a'), readAt(10, [])]).ok).toBe(false);
    const shown = [putAt(1, 'a', { client: 'c9' }), readAt(10, ['a']), readAt(20, [])];
    expect(checkSessions(shown).ok).toBe(false);
  });

  it('breaks when a value is shown beside the one written over it, at any level', () => {
    const over = putAt(20, 'b', { contextFrom: 10 });
    const history = [putAt(1, 'a'), readAt(10, ['a']), over, readAt(30, ['a', 'b'], { need: 1 })];
    expect(checkSessions(history).ok).toBe(false);
  });

  it('a value whose entry was pruned may be back beside what was written over it, which may not vanish', () => {
    const dots = new Map([['a', { actor: 'n1.aa', counter: 5 }]]);
    const entry = { node: 'n2', key: 'b/k', actor: 'n1.aa', counter: 5, atUs: 25 };
    const history = [putAt(1, 'a'), readAt(10, ['a']), putAt(20, 'b', { contextFrom: 10 })];
    const isFine = (values: readonly string[], atUs = 25): boolean =>
      checkSessions([...history, readAt(30, values)], wholeDisks, pruningsOf([{ ...entry, atUs }], dots)).ok;
    expect([isFine(['a', 'b']), isFine(['b']), isFine(['a']), isFine([])]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(isFine(['a', 'b'], 35)).toBe(false);
  });

  it('skips quorums that need not meet, also because a disk was lost between', () => {
    const history = [putAt(1, 'a'), readAt(10, [])];
    expect(verdict(checkSessions(history, diskLossesOf([{ node: 'n2', atUs: 5 }], false)))).toEqual([
      true,
      0,
      1,
    ]);
  });
});

describe('failure-detection', () => {
  const second = 1_000_000;
  const truth: DetectorTruth = {
    opinions: new Opinions([move(1, 'UNKNOWN', 'NORMAL')]),
    looks: [{ node: 'n1', atUs: 2, milliPhi: 40 }],
    troubles: [],
    nodes: ['n1', 'n2'],
    horizonUs: 2 * second,
  };
  const away = { node: 'n2', fromUs: second, toUs: 9 * second, away: true };
  const down = move(3 * second, 'NORMAL', 'DOWN');

  it('holds for legal moves with a cause, and for an absence that was noticed', () => {
    const opinions = new Opinions([...truth.opinions.moves, { ...down, atUs: 2 * second }]);
    expect(verdict(checkDetector({ ...truth, opinions, troubles: [away] }))).toEqual([true, 5, 0]);
  });

  it('breaks over a move from elsewhere, an illegal one, a false alarm, and a phi below nothing', () => {
    const bad: readonly Partial<DetectorTruth>[] = [
      { opinions: new Opinions([move(1, 'NORMAL', 'LEAVING')]) },
      { opinions: new Opinions([move(1, 'UNKNOWN', 'RESET')]) },
      { opinions: new Opinions([move(1, 'UNKNOWN', 'NORMAL'), down]) },
      { looks: [{ node: 'n1', atUs: 2, milliPhi: -1 }] },
      { looks: [{ node: 'n1', atUs: 2, milliPhi: Number.NaN }] },
    ];
    for (const over of bad) expect(checkDetector({ ...truth, ...over }).ok).toBe(false);
  });

  it('breaks over an absence that a node did not notice, unless that node was disturbed', () => {
    const unnoticed = checkDetector({ ...truth, troubles: [away] });
    expect([unnoticed.ok, unnoticed.firstBad?.atUs]).toEqual([false, 3 * second]);
    const cut = { node: '', fromUs: 0, toUs: 2 * second, away: false };
    expect(verdict(checkDetector({ ...truth, troubles: [away, cut] }))).toEqual([true, 2, 1]);
  });
});

describe('liveness', () => {
  const quiet = {
    node: 'n1',
    atUs: 5,
    peers: new Map([['0', 'NORMAL']]),
    peersExpected: 1,
    peersLost: 0,
    hintsKept: 0,
    asking: undefined,
  };

  it('holds when all is quiet', () => {
    expect(verdict(checkQuiet([quiet], 0))).toEqual([true, 6, 0]);
  });

  it('asks for DOWN where a node died for good, whose hints may wait', () => {
    const bereft = { ...quiet, peers: new Map([...quiet.peers, ['1', 'DOWN']]), peersLost: 1, hintsKept: 3 };
    expect(verdict(checkQuiet([bereft], 0))).toEqual([true, 5, 1]);
    expect(checkQuiet([{ ...bereft, peersLost: 0, peersExpected: 2 }], 0).ok).toBe(false);
  });

  it('breaks over a busy client, a peer that is not NORMAL or not known, a node that is away, a hint, and a node that asks on', () => {
    expect(checkQuiet([quiet], 1).ok).toBe(false);
    const broken = [
      { ...quiet, peers: new Map([['0', 'DOWN']]) },
      { ...quiet, peersExpected: 2 },
      { ...quiet, peers: undefined },
      { ...quiet, hintsKept: 3 },
      { ...quiet, asking: 'modules' },
    ];
    for (const record of broken) expect(checkQuiet([record], 0).ok).toBe(false);
  });
});

describe('hint-delivery', () => {
  const counts = { written: 6, erased: 4, stored: 6, ended: 4, exact: true };
  const balance = { node: 'n1', atUs: 9, onDisk: 2, counted: 2, ...counts };
  const fine = {
    ...{ removed: 4, skipped: 1, forgotten: [] },
    spread: { compared: 0, skipped: 0, missed: [] },
    sends: { taken: 2, repeated: [] },
  };

  it('holds when hints are removed for a reason, and the rest is counted', () => {
    expect(verdict(checkHints(fine, [balance]))).toEqual([true, 7, 1]);
  });

  it('breaks over a hint that is sent again and again', () => {
    const repeated = [{ atUs: 1, text: 'again' }];
    expect(checkHints({ ...fine, sends: { taken: 2, repeated } }, []).ok).toBe(false);
  });

  it('breaks over a hint removed before its replica had it, and over a gauge that is off', () => {
    expect(checkHints({ ...fine, forgotten: [{ atUs: 1, text: 'gone' }] }, []).ok).toBe(false);
    const missed = [{ atUs: 1, text: 'no hint' }];
    expect(checkHints({ ...fine, spread: { compared: 2, skipped: 1, missed } }, []).ok).toBe(false);
    expect(checkHints(fine, [{ ...balance, counted: 1 }]).ok).toBe(false);
  });

  it('breaks over counters that do not add up, and takes the disk as a bound where it hides its answers', () => {
    expect(checkHints(fine, [{ ...balance, ended: 3 }]).ok).toBe(false);
    expect(checkHints(fine, [{ ...balance, ended: 3, exact: false }]).ok).toBe(true);
    expect(checkHints(fine, [{ ...balance, stored: 7, exact: false }]).ok).toBe(false);
  });
});
