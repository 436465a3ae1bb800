/** Tests of the comparison of the world with processes: one small plan on real processes, and doctored expectations. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { present } from '../../engine/base/assert.ts';
import type { Operation } from '../evidence/history.ts';
import type { Plan, PlanFault } from '../plan/plan.ts';
import { planOfSeed } from '../runner/task.ts';
import { compareObjects } from './compare-objects.ts';
import { compareRuns } from './conform.ts';
import { Comparer } from './difference.ts';
import { Disturbances } from './disturbed.ts';
import { onlyMade, PacedRecorder } from './pacing.ts';
import { portablePartOf } from './portable.ts';
import type { ProcessOutcome } from './process-run.ts';
import { runOnProcesses } from './process-run.ts';
import type { WorldOutcome } from './world-run.ts';
import { runInWorld } from './world-run.ts';

const calm = planOfSeed('calm', 1);
const kill: PlanFault = {
  ...{ id: 'f1', kind: 'process-crash', targets: ['n2'], forUs: 100_000, params: {} },
  when: { atUs: 300_000 },
};
/** A plan of a second. */
const small: Plan = {
  ...calm,
  ...{ stormUs: 600_000, calmUs: 100_000, clients: 2, scrapes: [], malformedInput: [], faults: [kill] },
  operations: calm.operations.filter(({ client }) => client < 2).slice(0, 40),
};

describe('a small plan', () => {
  let directory = '';
  let world: WorldOutcome | undefined;
  let real: ProcessOutcome | undefined;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'lockstep-conform-'));
    world = await runInWorld(small);
    const { history } = world.outcome;
    const recorder = new PacedRecorder(small, history);
    real = await runOnProcesses(onlyMade(small, history), { directory, recorder });
  }, 300_000);
  afterAll(() => rmSync(directory, { recursive: true }));

  test('of real processes, one of them killed, conforms to the world', () => {
    const { differences, compared } = compareRuns(small, present(world, 'a run'), present(real, 'a run'));
    expect(differences).toEqual([]);
    expect(real?.faults.strikes).toHaveLength(1);
    expect(compared.final).toBeGreaterThan(5);
    expect(compared.counter).toBeGreaterThan(20);
  });

  test('differs from a world in which the last value of a key is another', () => {
    const made = present(world, 'a run');
    const history = made.outcome.history.map((one) =>
      one.kind === 'get' && one.final && one.key === firstExact(made) ? { ...one, values: ['x'] } : one,
    );
    const doctored = { ...made, outcome: { ...made.outcome, history } };
    const { differences } = compareRuns(small, doctored, present(real, 'a run'));
    expect(differences.map(({ kind, name }) => [kind, name])).toEqual([
      ['final', `${firstExact(made)} after the calm`],
    ]);
  });

  /** A key whose values are compared after the calm: without its final read, two comparisons less are made. */
  function firstExact({ outcome: { history } }: WorldOutcome): string {
    const finalsOf = (some: readonly Operation[]): number => {
      const comparer = new Comparer();
      const disturbances = new Disturbances([]);
      const reals = present(real, 'a run').history;
      compareObjects(small, { history: some, disturbances }, { history: reals, disturbances }, comparer);
      return comparer.comparison.compared.final ?? 0;
    };
    const all = finalsOf(history);
    const isFinalOf = (key: string, one: Operation): boolean =>
      one.kind === 'get' && one.final && one.key === key;
    const keys = [...new Set(history.map(({ key }) => key))];
    return present(
      keys.find((key) => finalsOf(history.filter((one) => !isFinalOf(key, one))) === all - 2),
      'a key',
    );
  }
});

describe('the portable part', () => {
  test('of a plan whose faults all need a disk that lies is refused, with the reason', () => {
    const rot: PlanFault = { ...kill, kind: 'bit-rot', forUs: 0 };
    expect(() => portablePartOf({ ...calm, faults: [rot] })).toThrow(
      /none of its faults is portable \(bit-rot: /,
    );
  });

  test('has a death of the process for a power loss, and names that', () => {
    const loss: PlanFault = { ...kill, kind: 'power-loss', params: { keeps: 'nothing' } };
    const { plan, leftOut } = portablePartOf({ ...calm, faults: [loss] });
    expect(plan.faults).toEqual([kill]);
    expect(leftOut).toEqual([expect.objectContaining({ what: 'power-loss', count: 1 })]);
  });
});

describe('two histories', () => {
  const plan: Plan = {
    ...calm,
    clients: 1,
    operations: calm.operations.slice(0, 2).map((one) => ({ ...one, client: 0 })),
  };
  const base = {
    ...{
      client: 'c0',
      key: 'siblings/k0',
      siblings: true,
      node: 'n1',
      datacenter: 'dc1',
      copies: 3,
      need: 2,
    },
    ...{ outcome: 'ok' as const, reason: '' },
  };
  const put: Operation = {
    ...{ ...base, id: 0, invokedUs: 0, completedUs: 10, kind: 'put', tag: 't' },
    ...{ contextFrom: undefined, durableCopies: 2 },
  };
  const readOf = (values: readonly string[], at = 20): Operation => {
    return { ...base, id: 1, invokedUs: at, completedUs: at + 10, kind: 'get', values, final: false };
  };
  const differencesOf = (world: readonly Operation[], real: readonly Operation[]): readonly string[] => {
    const comparer = new Comparer();
    const disturbances = new Disturbances([]);
    compareObjects(plan, { history: world, disturbances }, { history: real, disturbances }, comparer);
    return comparer.comparison.differences.map(
      ({ kind, world: left, processes }) => `${kind}: ${left}, ${processes}`,
    );
  };

  test('whose reads show the same have no difference', () => {
    expect(differencesOf([put, readOf(['t'])], [put, readOf(['t'])])).toEqual([]);
  });

  test('of which one lost an acknowledged write differ', () => {
    expect(differencesOf([put, readOf(['t'])], [put, readOf([])])).toEqual(['value: t, nothing']);
  });

  test('in which a write was refused only once differ', () => {
    const refused: Operation = { ...put, outcome: 'fail', reason: 'no' };
    expect(differencesOf([put, readOf(['t'])], [refused, readOf([])])).toEqual(['outcome: ok, fail (no)']);
  });

  test('in which the read overlapped the write are left to the invariants', () => {
    expect(differencesOf([put, readOf(['t'])], [put, readOf([], 5)])).toEqual([]);
  });
});
