import { expect, it } from 'vitest';

import type { PipelineCopies } from '../../evidence/pipeline-copies.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { Tally } from '../report.ts';
import { recordsOf, Server } from './pipeline-server.fixture.ts';
import type { PipelineStep } from './pipeline-steps.ts';
import { stepsByKey } from './pipeline-steps.ts';
import { checkRedisCopies } from './redis-copies.ts';

const nodes = ['n1', 'n2', 'n3'];
const noLoss = (): number => 0;

/** The steps that leave a value, in their order. */
function changesOf(records: readonly RedisRecord[]): readonly PipelineStep[] {
  const steps = [...stepsByKey(records, new Tally('durable-before-ack')).values()].flat();
  return steps.filter(({ leaves }) => typeof leaves === 'number');
}

/** Disks on which each change is durable at these nodes, so long before its reply. */
function disksOf(
  records: readonly RedisRecord[],
  holdersOf: (step: PipelineStep) => readonly string[],
  earlierUs = 10,
): PipelineCopies {
  const held = new Map(nodes.map((node) => [node, new Map<number, number>()]));
  for (const step of changesOf(records))
    for (const node of holdersOf(step)) held.get(node)?.set(Number(step.leaves), step.doneUs - earlierUs);
  return {
    keepersOf: () => [{ nodes, need: 2 }],
    heldBy: (node) => held.get(node) ?? new Map<number, number>(),
  };
}

const records = recordsOf(new Server(), 60);

it('a value on two of three disks before its reply is durable', () => {
  const report = checkRedisCopies(
    records,
    disksOf(records, () => ['n1', 'n3']),
    noLoss,
  );
  expect([report.ok, report.checked > 200]).toEqual([true, true]);
});

it('a value on one disk, or on the second one after its reply, is not; a disk that lost data is excused', () => {
  const alone = disksOf(records, () => ['n2']);
  const { ok, reasons } = checkRedisCopies(records, alone, noLoss);
  expect([ok, reasons[0]]).toEqual([false, expect.stringContaining('1 of 2 promised durable copies (on n2')]);
  expect(checkRedisCopies(records, alone, () => 1).ok).toBe(true);
  const late = disksOf(records, () => ['n1', 'n2'], -10);
  expect(checkRedisCopies(records, late, noLoss).ok).toBe(false);
});

it('of commands in one pipeline, the value of the last one on a key stands for the earlier ones', () => {
  const changes = changesOf(records);
  const isLast = (step: PipelineStep): boolean =>
    !changes.some(({ key, record, index }) => {
      return key === step.key && record === step.record && index > step.index;
    });
  const copies = disksOf(records, (step) => (isLast(step) ? ['n1', 'n2'] : []));
  expect(checkRedisCopies(records, copies, noLoss).reasons).toEqual([]);
});

it('a value that surely stood before does not stand for a later one', () => {
  const [first] = changesOf(records);
  const copies = disksOf(records, (step) => (step.record === first?.record ? ['n1', 'n2'] : []));
  expect(checkRedisCopies(records, copies, noLoss).ok).toBe(false);
});
