import { describe, expect, it } from 'vitest';

import { checkAcknowledgement } from './objects/acknowledgement.ts';
import { checkDeterminism, firstDifference } from './program/determinism.ts';
import { checkFailures } from './program/failures.ts';
import { deleteAt, newestWins, putAt, readAt } from './history-fixture.ts';
import type { MalformedInputRecord } from './protocols/malformed-input.ts';
import { checkMalformedInput } from './protocols/malformed-input.ts';
import { Tally, withFloor } from './report.ts';

describe('durable-before-ack', () => {
  it('accepts an acknowledgement with as many durable copies as promised, or more', () => {
    expect(checkAcknowledgement([putAt(1, 'a'), putAt(2, 'b', { durableCopies: 3 })])).toMatchObject({
      ok: true,
      checked: 2,
    });
  });

  it('accuses an acknowledgement with too few durable copies (negative control)', () => {
    const report = checkAcknowledgement([putAt(1, 'a', { durableCopies: 1 })]);
    expect(report.ok).toBe(false);
    expect(report.firstBad).toMatchObject({ atUs: 2 });
  });

  it('skips, without siblings, a write that an unseen one may have beaten; accuses one that had seen all', () => {
    const lost = { durableCopies: 0 };
    const unseen = newestWins([putAt(1, 'a'), putAt(10, 'b', lost)]);
    expect(checkAcknowledgement(unseen)).toMatchObject({ ok: true, checked: 1, skipped: 1 });
    const seen = newestWins([putAt(1, 'a'), readAt(5, ['a']), putAt(10, 'b', { ...lost, contextFrom: 5 })]);
    expect(checkAcknowledgement(seen).ok).toBe(false);
  });

  it('skips what another write had seen and may have replaced in time; accuses when that came too late', () => {
    const early = { durableCopies: 1, completedUs: 20 };
    const read = readAt(5, ['a'], { completedUs: 6 });
    const inTime = [putAt(1, 'a', early), read, deleteAt(9, { contextFrom: 5 })];
    expect(checkAcknowledgement(inTime)).toMatchObject({ ok: true, checked: 0, skipped: 2 });
    const late = [putAt(1, 'a', early), read, deleteAt(21, { contextFrom: 5 })];
    expect(checkAcknowledgement(late).ok).toBe(false);
  });

  it('skips deletions and what was not acknowledged', () => {
    const unsure = putAt(1, 'a', { durableCopies: 0, outcome: 'unknown' });
    expect(checkAcknowledgement([deleteAt(3, { durableCopies: 0 }), unsure])).toMatchObject({
      ok: true,
      checked: 0,
      skipped: 1,
    });
  });
});

describe('input-robustness', () => {
  const burst: MalformedInputRecord = {
    id: 'g0',
    node: 'n1',
    listener: 'pb',
    form: 'oversized',
    sentBytes: 9,
    atUs: 5,
    outcome: 'closed',
    hopeless: true,
  };
  const node = { node: 'n1', atUs: 9, answers: true };

  it('accepts closed connections and living nodes', () => {
    expect(checkMalformedInput([burst], [node])).toMatchObject({ ok: true, checked: 2 });
  });

  it('accuses a node that waits for the rest of malformed input, and one that is down (negative control)', () => {
    expect(checkMalformedInput([{ ...burst, outcome: 'open' }], [node]).ok).toBe(false);
    expect(checkMalformedInput([burst], [{ ...node, answers: false }]).ok).toBe(false);
  });

  it('lets a node wait for the rest of what may still become a request', () => {
    expect(checkMalformedInput([{ ...burst, outcome: 'open', hopeless: false }], [node]).ok).toBe(true);
  });

  it('accuses a start that refuses its store and has changed it (negative control)', () => {
    const refused = { node: 'n1', life: 2, atUs: 7, refused: 'Corrupted', served: false, troubled: true };
    const start = { ...refused, foreign: false, left: [], changed: undefined };
    expect(checkMalformedInput([], [], [start])).toMatchObject({ ok: true, checked: 1 });
    const changed = { ...start, changed: 'store/MANIFEST' };
    expect(checkMalformedInput([], [], [changed]).ok).toBe(false);
    // The disk failed later: what the start had repaired stays.
    expect(checkMalformedInput([], [], [{ ...changed, refused: 'StorageFailed' }]).ok).toBe(true);
  });

  it('skips what never arrived', () => {
    expect(checkMalformedInput([{ ...burst, outcome: 'lost' }], [])).toMatchObject({
      checked: 0,
      skipped: 1,
    });
  });
});

describe('determinism', () => {
  it('accepts equal digests and accuses different ones (negative control)', () => {
    expect(checkDeterminism('aa', 'aa')).toMatchObject({ ok: true, checked: 1 });
    expect(checkDeterminism('aa', 'ab').ok).toBe(false);
  });

  it('names the first event that differs', () => {
    expect(firstDifference(['0.000010 a', '0.000020 b'], ['0.000010 a', '0.000020 x'])).toEqual({
      atUs: 20,
      text: 'event 1: 0.000020 b | 0.000020 x',
    });
    expect(firstDifference(['0.000010 a', '0.000025 b'], ['0.000010 a']).text).toContain('the trace ends');
  });
});

describe('no-silent-failures', () => {
  const life = { node: 'n1', life: 1, failedTasks: 0, atUs: 7 };

  it('accepts incarnations without failed tasks', () => {
    expect(checkFailures([life], [])).toMatchObject({ ok: true, checked: 2 });
  });

  it('accuses a failed task and a failure of the run (negative control)', () => {
    expect(checkFailures([{ ...life, failedTasks: 1 }], []).ok).toBe(false);
    expect(checkFailures([life], [{ atUs: 3, text: 'a promise was rejected' }]).firstBad?.atUs).toBe(3);
  });
});

describe('reports', () => {
  it('a check that compared too little has failed as vacuous', () => {
    const tally = new Tally('durable-before-ack');
    tally.compare(true, 0, () => '');
    expect(withFloor(tally.report(), 1)).toMatchObject({ ok: true, vacuous: false });
    expect(withFloor(tally.report(), 2)).toMatchObject({ ok: false, vacuous: true });
  });

  it('the first bad event is the earliest, and a broken invariant stays broken below its floor', () => {
    const tally = new Tally('durable-before-ack');
    tally.compare(false, 30, () => 'late');
    tally.compare(false, 20, () => 'early');
    expect(withFloor(tally.report(), 100)).toMatchObject({
      ok: false,
      vacuous: false,
      firstBad: { atUs: 20, text: 'early' },
      reasons: ['early', 'late'],
    });
  });
});
