/**
 * Batches of several puts at the one primary of their keys, struck at every step: every replica has all of a batch, or
 * nothing.
 */
import { expect, it } from 'vitest';

import { checkAtomicity, checkOnce } from '../../check/transactions/transactions.ts';
import { checkLocks } from '../../check/transactions/locks.ts';
import type { StepName } from '../../../engine/transactions/formats/steps.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';
import { stepOf } from '../../explore/crash-points.ts';

const steps: readonly StepName[] = [
  'c.begin',
  'p.locks.taken',
  'p.apply.partial',
  'p.applied',
  'p.applied.synced',
  'p.locks.released',
];

it.each([1, 3] as const)('with copies: %i', async (copies) => {
  for (const step of steps)
    for (const keeps of ['keepAll', 'dropAll'] as const) await strike(copies, step, keeps);
});

it('reaches no other node before it is durable', async () => {
  await strike(3, 'p.applied', 'dropAll', 5_000);
});

/** `laterUs`: the crash comes that long after the step, on a disk with slower syncs. */
async function strike(
  copies: 1 | 3,
  step: StepName,
  keeps: 'keepAll' | 'dropAll',
  laterUs = 0,
): Promise<void> {
  const lab = new TransactionHarness(`own batches ${step} ${keeps}`, {}, copies);
  await lab.start();
  const keys = [lab.key('n1', 0), lab.key('n1', 1), lab.key('n1', 2)];
  const batch = (value: string): object => ({ operations: keys.map((key) => put(key, value)) });
  const before = await lab.call('n1', 'POST', '/transactions', batch('before'));
  expect(before).toMatchObject({ status: 200, body: { outcome: 'committed', operations: 3 } });
  let struck = 0;
  const subscription = lab.onStep(step, () => {
    subscription.cancel();
    struck += 1;
    if (laterUs === 0) lab.cluster.crash('n1', keeps, 'reset');
    else lab.world.after(laterUs, 'crash', () => lab.cluster.crash('n1', keeps, 'reset'));
    lab.world.after(400_000, 'start', () => lab.cluster.start('n1'));
  });
  const delay = { minUs: 4 * laterUs, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
  if (laterUs > 0) lab.cluster.host('n1').disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
  const answer = await lab.call('n1', 'POST', '/transactions', batch('struck'));
  expect(struck).toBe(1);
  await lab.pass(1_500_000);
  const values = new Set<string | undefined>();
  for (const key of keys) values.add(await lab.read('n1', key, 'primary'));
  expect([...values]).toHaveLength(1);
  const [value] = values;
  if (answer?.body['outcome'] === 'committed') expect(value).toBe('struck');
  if (laterUs > 0) expect(value).toBe('before');
  if (copies === 3) {
    await lab.pass(4_000_000);
    for (const node of labNodes) for (const key of keys) expect(await lab.read(node, key, 3)).toBe(value);
  }
  const told = lab.steps.map(stepOf);
  for (const { reasons } of [checkAtomicity(told), checkLocks(told), checkOnce(told)])
    expect(reasons).toEqual([]);
  expect(lab.world.failures).toEqual([]);
}
