import { expect, it } from 'vitest';

import type { Operation } from '../../evidence/history.ts';
import type { ListingRecord } from '../../evidence/jobs.ts';
import { nothingPruned } from '../../evidence/prunings.ts';
import { Opinions } from '../../evidence/opinions.ts';
import type { JobSurroundings } from './held-keys.ts';
import { checkListings } from './listings.ts';

const about = {
  client: 'c0',
  siblings: false,
  node: 'n1',
  datacenter: 'dc1',
  copies: 3,
  need: 2,
  reason: '',
};

function put(id: number, key: string, more: Partial<Operation> = {}): Operation {
  const times = { invokedUs: id * 10, completedUs: id * 10 + 5 };
  const write = {
    kind: 'put',
    tag: `${id}`,
    contextFrom: undefined,
    durableCopies: 2,
    outcome: 'ok',
  } as const;
  return { ...about, ...times, id, key, ...write, ...more } as Operation;
}

function finalRead(id: number, key: string, values: readonly string[], datacenter = 'dc1'): Operation {
  const times = { invokedUs: id * 10, completedUs: id * 10 + 5 };
  return { ...about, ...times, datacenter, id, key, kind: 'get', values, final: true, outcome: 'ok' };
}

const moves = [{ observer: 'n1', life: 1, peer: 'n2', from: 'UNKNOWN', to: 'NORMAL', atUs: 0 }];
const around: JobSurroundings = {
  nodes: ['n1', 'n2'],
  opinions: new Opinions(moves, [{ observer: 'n1', atUs: 0 }]),
  diskLosses: { lostBetween: () => 0 },
  disturbances: [],
  prunings: nothingPruned,
};

const history = [put(0, 'b/k0'), put(1, 'b/k1'), put(2, 'other/k2'), put(3, 'b/k3', { outcome: 'fail' })];
const asked: ListingRecord = {
  ...{ client: 'j0', node: 'n1', datacenter: 'dc1', over: 'pbc', bucket: 'b/', invokedUs: 50 },
  ...{ completedUs: 60, outcome: 'ok', names: ['b/k0', 'b/k1'], final: false },
};

const isFine = (names: readonly string[], operations = history, more: Partial<ListingRecord> = {}): boolean =>
  checkListings(operations, [{ ...asked, names, ...more }], around).ok;

it('holds for a listing of every key that is there, and for a failed one', () => {
  expect(isFine(['b/k1', 'b/k0'])).toBe(true);
  expect(isFine([], history, { outcome: 'fail' })).toBe(true);
});

it('breaks over a key twice, a key that was never put, and one that a majority held', () => {
  expect(isFine(['b/k0', 'b/k1', 'b/k0'])).toBe(false);
  expect(isFine(['b/k0', 'b/k1', 'b/k9'])).toBe(false);
  expect(isFine(['b/k0', 'b/k1', 'b/k3'])).toBe(false);
  expect(isFine(['b/k0'])).toBe(false);
});

it('allows a key to be left out that another datacenter holds, that may be deleted, or that is put meanwhile', () => {
  expect(isFine(['b/k0'], history, { datacenter: 'dc2' })).toBe(true);
  const deleted = put(4, 'b/k1', { kind: 'delete', tag: '' });
  expect(isFine(['b/k0'], [...history, deleted])).toBe(true);
  expect(isFine(['b/k0'], [put(0, 'b/k0'), put(5, 'b/k1')])).toBe(true);
});

it('names after the calm what reads show, and nothing else', () => {
  const final = { final: true, invokedUs: 900, completedUs: 910 };
  const settled = [...history.slice(0, 3), finalRead(80, 'b/k0', ['0']), finalRead(81, 'b/k1', [])];
  expect(isFine(['b/k0'], settled, final)).toBe(true);
  expect(isFine(['b/k0', 'b/k1'], settled, final)).toBe(false);
  expect(isFine([], settled, final)).toBe(false);
});

it('may name after the calm a key that the reads of one datacenter show, and must name what all of them show', () => {
  const final = { final: true, invokedUs: 900, completedUs: 910 };
  const near = [...history.slice(0, 3), finalRead(80, 'b/k0', ['0']), finalRead(81, 'b/k1', [])];
  const settled = [...near, finalRead(82, 'b/k0', ['0'], 'dc2'), finalRead(83, 'b/k1', ['1'], 'dc2')];
  expect(isFine(['b/k0'], settled, final)).toBe(true);
  expect(isFine(['b/k0', 'b/k1'], settled, final)).toBe(true);
  expect(isFine(['b/k1'], settled, final)).toBe(false);
});

it('may name after the calm a key that holds nothing but what a pruned context may bring back', () => {
  const listed = (names: readonly string[], shown: readonly string[], back: string): boolean => {
    const prunings = { mayBeBack: ({ tag }: { readonly tag: string }) => tag === back };
    const settled = [...history.slice(0, 3), finalRead(80, 'b/k0', ['0']), finalRead(81, 'b/k1', shown)];
    const final = { ...asked, names, final: true, invokedUs: 900, completedUs: 910 };
    return checkListings(settled, [final], { ...around, prunings }).ok;
  };
  expect([listed(['b/k0', 'b/k1'], [], '1'), listed(['b/k0'], ['1'], '1')]).toEqual([true, true]);
  expect([listed(['b/k0', 'b/k1'], [], '2'), listed(['b/k0'], ['1'], '2')]).toEqual([false, false]);
});
