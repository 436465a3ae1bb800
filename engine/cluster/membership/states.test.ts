import { describe, expect, it } from 'vitest';

import type { RingChangeStep } from './states.ts';
import { declaredStates, isLegalStep, moveStages } from './states.ts';

const all: readonly RingChangeStep[] = declaredStates.flatMap((state) =>
  moveStages.map((move) => ({ state, move })),
);

describe('the steps of a ring change', () => {
  it('give keys to their next owners only after they were copied', () => {
    const before = all.filter((from) => all.some((to) => to.move === 'switching' && isLegalStep(from, to)));
    expect(before).toEqual([
      { state: 'JOINING', move: 'copying' },
      { state: 'LEAVING', move: 'copying' },
    ]);
  });

  it('end a join in NORMAL, and never take a member back to JOINING', () => {
    const joins = all.filter((from) => all.some((to) => to.state === 'JOINING' && isLegalStep(from, to)));
    expect(joins.every(({ state }) => state === 'JOINING')).toBe(true);
    const after = all.filter((to) => isLegalStep({ state: 'NORMAL', move: 'switching' }, to));
    expect(after).toEqual([{ state: 'NORMAL', move: 'none' }]);
  });
});
