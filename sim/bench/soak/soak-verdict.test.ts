/** Tests that a soak's verdict finds what it is there for. */
import { describe, expect, test } from 'vitest';

import type { Operation } from '../../evidence/history.ts';
import type { TransactionRecord } from '../../evidence/transactions.ts';
import type { JudgedNode, SoakRecords } from './soak-verdict.ts';
import { judge } from './soak-verdict.ts';

type Load = SoakRecords;
type Nodes = readonly JudgedNode[];

const listOf = (list: readonly number[]): TransactionRecord['writes'][number]['value'] => {
  return { tag: '', balance: undefined, list };
};

function record(id: number, more: Partial<TransactionRecord>): TransactionRecord {
  return {
    ...{ id, planned: '', client: 'x1', kind: 'append', forced: false, validated: true, reads: [] },
    ...{ writes: [], need: 2, invokedUs: id * 10, completedUs: id * 10 + 5, outcome: 'ok', reason: '' },
    ...{ node: 'n1', xids: [], clientId: '', denials: [], final: false },
    ...more,
  };
}

/** A transaction that appended to two empty lists, and the final reads of both. */
function pair(outcome: 'ok' | 'fail' | 'unknown', left: readonly number[], right: readonly number[]): Load {
  const empty = ['lists/l0', 'lists/l1'].map((key) => ({ key, value: undefined }));
  const writes = empty.map(({ key }, index) => ({ key, value: listOf([index]), durableCopies: undefined }));
  const finals = [left, right].map((list, index) =>
    record(index + 1, { reads: [{ key: `lists/l${index}`, value: listOf(list) }], final: true }),
  );
  return loadOf({ transactions: [record(0, { reads: empty, writes, outcome }), ...finals] });
}

function loadOf(more: Partial<Load>): Load {
  return { operations: [], transactions: [], asked: new Map(), ...more };
}

function nodeOf(counted: number | undefined, more: Partial<JudgedNode> = {}): Nodes {
  return [
    {
      name: 'n1',
      lives: 2,
      isRenewed: false,
      samples: [],
      deaths: [],
      counter: () => Promise.resolve(counted),
      ...more,
    },
  ];
}

async function brokenOf(load: Load, nodes: Nodes = []): Promise<readonly string[]> {
  return (await judge(load, nodes)).filter(({ ok }) => !ok).map(({ name }) => name);
}

describe('a transaction', () => {
  test('that is whole, or of which nothing happened, breaks nothing', async () => {
    expect(await brokenOf(pair('ok', [0], [1]))).toEqual([]);
    expect(await brokenOf(pair('fail', [], []))).toEqual([]);
    expect(await brokenOf(pair('unknown', [0], [1]))).toEqual([]);
    expect(await brokenOf(pair('unknown', [], []))).toEqual([]);
  });

  test('that is torn, lost, or back after its refusal is found', async () => {
    expect(await brokenOf(pair('unknown', [0], []))).toContain('all-or-nothing');
    expect(await brokenOf(pair('ok', [], []))).toContain('all-or-nothing');
    expect(await brokenOf(pair('fail', [0], [1]))).toContain('all-or-nothing');
  });
});

test('an acknowledged write that no later read shows is found', async () => {
  const base = {
    ...{ client: 'c1', key: 'soak/k1', siblings: true, node: 'n1', datacenter: 'dc1', copies: 3, need: 2 },
    ...{ outcome: 'ok' as const, reason: '' },
  };
  const put: Operation = {
    ...{ ...base, id: 0, invokedUs: 0, completedUs: 1, kind: 'put', tag: 'soak:c1:1' },
    ...{ contextFrom: undefined, durableCopies: 2 },
  };
  const read = (values: readonly string[]): Operation => {
    return { ...base, id: 1, invokedUs: 2, completedUs: 3, kind: 'get', values, final: true };
  };
  expect(await brokenOf(loadOf({ operations: [put, read(['soak:c1:1'])] }))).toEqual([]);
  expect(await brokenOf(loadOf({ operations: [put, read([])] }))).toEqual(['durability']);
});

test('counters differ from what clients sent by lost answers at most', async () => {
  const load = loadOf({ asked: new Map([['n1 2', { reads: 10, writes: 10, lost: 2 }]]) });
  expect(await brokenOf(load, nodeOf(10))).toEqual([]);
  expect(await brokenOf(load, nodeOf(8))).toEqual([]);
  expect(await brokenOf(load, nodeOf(7))).toEqual(['counters']);
  expect(await brokenOf(load, nodeOf(7, { isRenewed: true }))).toEqual([]);
  expect(await brokenOf(load, nodeOf(11))).toEqual(['counters']);
  expect(await brokenOf(load, nodeOf(undefined))).toEqual(['counters']);
});

test('memory and open files that grow are found, and an end that nothing asked for', async () => {
  const samples = (
    residentMiB: (index: number) => number,
    handles: (index: number) => number,
  ): Partial<JudgedNode> => {
    return {
      samples: Array.from({ length: 30 }, (_, index) => {
        return { atMs: index, residentMiB: residentMiB(index), handles: handles(index) };
      }),
    };
  };
  const flat = (): number => 100;
  const named = async (more: Partial<JudgedNode>): Promise<readonly string[]> =>
    brokenOf(loadOf({}), nodeOf(0, more));
  expect(await named(samples(flat, flat))).toEqual([]);
  expect(await named(samples((index) => 100 + 10 * index, flat))).toEqual(['memory-and-handles']);
  expect(await named(samples(flat, (index) => 100 + 10 * index))).toEqual(['memory-and-handles']);
  expect(await named({ deaths: ['n1 ended by itself'] })).toEqual(['no-unexpected-end']);
});
