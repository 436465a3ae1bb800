import { expect, it } from 'vitest';

import { runPlan } from '../runner/run.ts';
import type { Plan } from '../plan/plan.ts';
import { planOfSeed } from '../runner/task.ts';
import { recordRun } from './record-run.ts';

it('a recorded run has the digest of the run, and holds what passed, befell and was held', async () => {
  const plan = planOfSeed('crash-during-prepare', 1);
  const recording = await recordRun(plan, () => 0);
  const { digest } = await runPlan(plan, { unobserved: true });
  expect(recording.result).toMatchObject({ digest, verdict: 'passed' });
  const { lanes, messages, messageKinds, bands, marks, operations, states, subjects } = recording;
  expect(lanes.slice(0, 3)).toEqual(['n1', 'n2', 'n3'].map((name) => ({ name, kind: 'node' })));
  for (const { sentUs, arrivedUs, kind } of messages) {
    expect(arrivedUs < 0 || arrivedUs >= sentUs).toBe(true);
    expect(messageKinds[kind]).toBeDefined();
  }
  const prepares = messages.filter(({ kind }) => messageKinds[kind] === 'transact.prepare');
  expect(
    prepares.some(({ about }) => about.some((one) => /^n\d-[0-9a-f]{12}-\d+$/.test(subjects[one] ?? ''))),
  ).toBe(true);
  // A node without power receives nothing.
  const crash = marks.find(({ kind }) => kind === 'crash');
  expect(bands.map(({ kind }) => kind)).toEqual(['power-loss', 'power-loss']);
  expect(messages.some(({ to, arrivedUs }) => to === crash?.lane && arrivedUs < 0)).toBe(true);
  expect(new Set(operations.map(({ outcome }) => outcome))).toContain('unknown');
  expect(states.every(({ atUs }, at) => at === 0 || atUs >= (states[at - 1]?.atUs ?? 0))).toBe(true);
  const { length } = plan.faults;
  expect(recording.sentences.slice(0, length).every(({ kind }) => kind === 'fault')).toBe(true);
});

it('a fault of links says which: between two nodes, or around some of them', async () => {
  const whole = planOfSeed('calm', 1);
  const common = { when: { atUs: 1000 }, forUs: 20_000 };
  const faults: Plan['faults'] = [
    { ...common, id: 'f0', kind: 'network-delay', targets: ['n1', 'n2'], params: { minUs: 0, meanUs: 5000 } },
    { ...common, id: 'f1', kind: 'network-partition', targets: ['n1'], params: {} },
    { ...common, id: 'f2', kind: 'process-pause', targets: ['n3'], params: {} },
  ];
  const plan = { ...whole, faults, operations: whole.operations.slice(0, 3), scrapes: [] };
  const { bands } = await recordRun(plan, () => 0);
  expect(new Map(bands.map(({ fault, links }) => [fault, links]))).toEqual(
    new Map([
      ['f0', 'between'],
      ['f1', 'around'],
      ['f2', undefined],
    ]),
  );
});

it("an operator's changes of buckets are operations, and their nodes tell each other of them", async () => {
  const whole = planOfSeed('calm', 1);
  const change = { id: 'b0', atUs: 5000, node: 'n2', kind: 'set', bucket: 0, mark: 7 } as const;
  const plan: Plan = {
    ...{ ...whole, operations: [], transactions: [], scrapes: [], malformedInput: [], stormUs: 50_000 },
    bucketChanges: [change],
    floors: { 'bucket-properties': 1 },
  };
  const { operations, lanes, subjects, messages, sentences, result } = await recordRun(plan, () => 0);
  expect(result.verdict).toBe('passed');
  expect(sentences).toEqual([
    {
      ...{ id: 'b0', atUs: 5000, kind: 'operation' },
      text: 'at 0.005 s an operator sets the properties of marked0 (siblings, old_vclock 100007, big_vclock 107, mark 7) at n2',
    },
  ]);
  const [first] = operations;
  expect(first).toMatchObject({ id: 'b0', node: 1, outcome: 'ok' });
  expect(lanes[first?.lane ?? 0]?.name).toBe('bucket-operator');
  expect(first?.about.map((at) => subjects[at])).toEqual(['marked0']);
  expect(operations.find(({ text }) => text.includes('without a context'))?.text).toMatch(
    /^bucket-reader reads marked0\/k at n\d .* ok 2 values/,
  );
  const told = messages.filter(({ about }) => about.some((at) => subjects[at] === 'marked0'));
  expect(new Set(told.map(({ from }) => lanes[from]?.name))).toContain('n2');
});
