import { expect, it } from 'vitest';

import type { Plan, PlanFault } from '../plan/plan.ts';
import { planOfSeed } from '../runner/task.ts';
import type { CheckReport } from '../check/report.ts';
import type { ExplainRuns } from './explanation.ts';
import { explainPlan } from './explain.ts';
import { sentencesOf } from './plan-sentences.ts';
import type { Recording } from './recording.ts';

const whole = planOfSeed('calm', 1);
const quiet = { scrapes: [], malformedInput: [] };
const crash: PlanFault = {
  ...{ id: 'f0', kind: 'process-crash', targets: ['n2'], when: { atUs: 40_000 } },
  ...{ forUs: 1000, params: {} },
};
const plan: Plan = { ...whole, faults: [crash], operations: whole.operations.slice(0, 2), ...quiet };
const [first, second] = plan.operations.map(({ id }) => id);

/** A recording of a run that broke `durability`, or nothing. */
function recordingOf(ran: Plan, broke: boolean): Recording {
  const concern = {
    ...{ atUs: 5, text: 'lost', invariant: 'durability', promise: '', breach: '' },
    ...{ subjects: [], lanes: [], operations: [] },
  };
  return {
    format: 1,
    plan: ran,
    result: {
      ...{ scenario: ran.scenario, seed: ran.seed, verdict: broke ? 'failed' : 'passed', reports: [] },
      ...{ digest: '', events: 1, nodeEvents: 1, outcomes: { ok: 0, fail: 0, unknown: 0 } },
      ...{ virtualUs: 1, wallMs: 1, struck: {}, missed: [], because: '' },
    },
    ...{ phases: [], lanes: [], subjects: [], messageKinds: [], messages: [], marks: [], bands: [] },
    ...{ operations: [], states: [], counters: [], sentences: sentencesOf(ran), leftOut: 0 },
    concern: broke ? concern : undefined,
  };
}

function breaks({ faults, operations }: Plan): boolean {
  const [fault] = faults;
  const inTime = fault !== undefined && 'atUs' in fault.when && fault.when.atUs <= 41_234;
  return inTime && operations.some(({ id }) => id === second);
}

/** Runs in which a plan breaks `durability` if `fails` says so. */
function runsOf(fails: (ran: Plan) => boolean): ExplainRuns {
  return {
    record: (ran) => Promise.resolve(recordingOf(ran, fails(ran))),
    judge: (ran) => Promise.resolve(fails(ran) ? { report } : undefined),
  };
}
const report: CheckReport = {
  ...{ invariant: 'durability', ok: false, checked: 1, skipped: 0, reasons: [], vacuous: false },
  firstBad: undefined,
};
const record = runsOf(breaks);

it('names what the failure needs, and up to when its fault must strike', async () => {
  const { decisive, sentence, runs } = await explainPlan(recordingOf(plan, true), record);
  expect(decisive).toEqual(['f0', second]);
  expect(sentence).not.toContain(`${first} (`);
  expect(sentence).toMatch(/^What broke, at 0\.0000 s: lost\./);
  expect(sentence).toContain('f0 (at 0.040 s n2 crashes and is away for 1 ms)');
  expect(sentence).toMatch(
    /f0 breaks the promise if it strikes up to 1\.2\d ms later, and not if .* 1\.2\d ms later/,
  );
  expect(runs).toBeLessThanOrEqual(30);
});

it('ends when its time is up', async () => {
  const { decisive, runs, sentence } = await explainPlan(recordingOf(plan, true), record, () => true);
  expect(sentence).toContain(
    "The time ended before any of the plan's 3 faults and operations was left out singly.",
  );
  expect([decisive, runs]).toEqual([[], 0]);
});

it('has nothing to explain where no promise broke', async () => {
  expect((await explainPlan(recordingOf(plan, false), record)).sentence).toContain('nothing to explain');
});

it('shrinks a large plan before it explains it', async () => {
  const large: Plan = { ...plan, operations: whole.operations.slice(0, 60) };
  const { signal } = new AbortController();
  const { decisive, sentence, runs } = await explainPlan(
    recordingOf(large, true),
    record,
    () => false,
    signal,
  );
  expect(decisive).toEqual(['f0', second]);
  expect(sentence).toContain("Of the plan's 61 faults and operations, 4 are enough.");
  expect(runs).toBeLessThan(110);
});

it('finds the fault whose moment matters among several', async () => {
  const early: PlanFault = { ...crash, id: 'f1', targets: ['n1'], when: { atUs: 10 } };
  const two: Plan = { ...plan, faults: [early, crash], operations: [] };
  const needsBoth = ({ faults }: Plan): boolean =>
    faults.some(({ id }) => id === 'f1') &&
    faults.some(({ id, when }) => id === 'f0' && 'atUs' in when && when.atUs <= 41_234);
  const { sentence } = await explainPlan(recordingOf(two, true), runsOf(needsBoth));
  expect(sentence).toMatch(/The moment decides: f0 breaks the promise/);
});

it('names what the struck host does between the failing instant and the passing one', async () => {
  const marks = [
    { lane: 0, atUs: 40_000, kind: 'fault' as const, text: 'f0: n2 crashes', about: [] },
    { lane: 0, atUs: 39_995, kind: 'sync' as const, text: 'disk.file.synced what=store/1.log', about: [] },
    { lane: 0, atUs: 20_000, kind: 'sync' as const, text: 'disk.file.synced what=store/0.log', about: [] },
  ];
  const lanes = [{ name: 'n2', kind: 'node' as const }];
  const { sentence } = await explainPlan(recordingOf(plan, true), {
    ...record,
    record: (ran) => Promise.resolve({ ...recordingOf(ran, false), lanes, marks }),
  });
  expect(sentence).toContain(
    'The moment decides: f0 must come before n2 syncs the file store/1.log (0.0400 s).',
  );
});

it('finds the one message whose delay decides', async () => {
  const lanes = [
    { name: 'n1', kind: 'node' as const },
    { name: 'n2', kind: 'node' as const },
  ];
  const steadyAt = ({ steadyFrom = [] }: Plan): number =>
    steadyFrom.find(({ host }) => host === 'n1')?.packet ?? Number.MAX_SAFE_INTEGER;
  // The 38th packet of n1 must take its own time.
  const fails = (ran: Plan): boolean => steadyAt(ran) > 37;
  const recorded = (ran: Plan): Recording => ({
    ...recordingOf(ran, fails(ran)),
    lanes,
    messageKinds: ['mergeObject'],
    messages: Array.from({ length: 50 }, (_, at) => ({
      ...{ from: 0, to: 1, sentUs: at * 1000, kind: 0, bytes: 9, about: [] },
      arrivedUs: at * 1000 + (at < steadyAt(ran) ? 900 : 300),
    })),
  });
  const calm: Plan = { ...plan, faults: [], operations: [] };
  const { sentence, runs } = await explainPlan(recorded(calm), {
    record: (ran) => Promise.resolve(recorded(ran)),
    judge: (ran) => Promise.resolve(fails(ran) ? { report } : undefined),
  });
  expect(sentence).toContain(
    'the mergeObject that n1 sends to n2 at 0.0370 s arrives at 0.0379 s; if it arrived at 0.0373 s, the promise would be kept.',
  );
  expect(runs).toBeLessThan(20);
});
