import { describe, expect, it } from 'vitest';

import { byteStringOf } from '../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../engine/base/object-key.ts';
import { plainContent } from '../../engine/replica/object/content.ts';
import { clockSkewMsMax } from '../../engine/replica/object/dates.ts';
import type { Actor } from '../../engine/replica/object/dots.ts';
import { emptyVector, nextCounter } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { applyWrite } from '../../engine/replica/object/object.ts';
import { checkDates } from '../check/disks/dates.ts';
import { DateObserver } from './date-observer.ts';

const startMs = Date.UTC(2026, 0);
const day = 86_400_000;
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const content = plainContent(Buffer.from('v'), 'text/plain');

/** A write by n1 on top of `below`, with these times in its dot and in its date. */
function written(namedMs: number, datedMs: number, below?: StoredObject): StoredObject {
  const dot = { actor: byteStringOf('n1.5f+1') as Actor, counter: nextCounter(0, namedMs) };
  return applyWrite(below, below?.context ?? emptyVector, content, dot, datedMs);
}

class Scene {
  nowUs = 0;
  readonly witness = new DateObserver(() => this.nowUs);

  /** `n1` reads its clock at that virtual second. */
  told(second: number, wallMs: number): this {
    this.nowUs = second * 1_000_000;
    this.witness.told('n1', wallMs);
    return this;
  }

  verdict(object: StoredObject): readonly unknown[] {
    this.witness.stored(key, object);
    const { ok, checked, skipped } = checkDates(this.witness.dates);
    return [ok, checked, skipped];
  }
}

describe('a version', () => {
  it('is dated and named by what its clock showed, give or take what clocks are apart', () => {
    const scene = new Scene().told(1, startMs);
    expect(scene.verdict(written(startMs, startMs))).toEqual([true, 1, 0]);
    // A version counts once, no matter how many disks hold it.
    expect(scene.verdict(written(startMs, startMs))).toEqual([true, 1, 0]);
    const apart = startMs + clockSkewMsMax;
    expect(scene.verdict(written(apart, apart))).toEqual([true, 2, 0]);
  });

  it('that a wrong clock dates is right while that shows so, and wrong once it does not', () => {
    const wrong = written(startMs + day, startMs + day);
    expect(new Scene().told(1, startMs + day).verdict(wrong)).toEqual([true, 1, 0]);
    expect(
      new Scene()
        .told(1, startMs + day)
        .told(9, startMs)
        .verdict(wrong),
    ).toEqual([false, 1, 0]);
    expect(new Scene().told(1, startMs).verdict(written(startMs, startMs - day))).toEqual([false, 1, 0]);
  });

  it('is named ahead of its clock only where its key was', () => {
    const dot = { actor: byteStringOf('n2.aa') as Actor, counter: nextCounter(0, startMs + day) };
    const ahead: StoredObject = { context: [dot], siblings: [] };
    const onTop = written(startMs + day + 1, startMs, ahead);
    expect(new Scene().told(1, startMs).verdict(onTop)).toEqual([true, 1, 0]);
    expect(new Scene().told(1, startMs).verdict(written(startMs + day, startMs))).toEqual([false, 1, 0]);
  });

  it('is named ahead of its clock by up to twice what clocks are apart where the clock has gone back', () => {
    const back = (byMs: number): readonly unknown[] => {
      const scene = new Scene().told(1, startMs).told(9, startMs - byMs);
      return scene.verdict(written(startMs + clockSkewMsMax, startMs - byMs));
    };
    expect(back(clockSkewMsMax)).toEqual([true, 1, 0]);
    expect(back(clockSkewMsMax + 1)).toEqual([false, 1, 0]);
  });

  it('of a clock without observed readings is skipped', () => {
    expect(new Scene().verdict(written(startMs, startMs))).toEqual([true, 0, 1]);
  });
});
