/** Tests the checks of job results and of clients that do not read: each with the evidence that must break it. */
import { expect, test } from 'vitest';

import type { Operation } from '../../evidence/history.ts';
import type { JobRecord } from '../../evidence/jobs.ts';
import { nothingPruned } from '../../evidence/prunings.ts';
import type { SlowReading } from '../../evidence/slow-reading.ts';
import { checkJobs } from './jobs.ts';
import { checkSlowReaders } from '../bounds/slow-readers.ts';

const about = {
  client: 'c0',
  siblings: false,
  node: 'n1',
  datacenter: 'dc1',
  copies: 3,
  need: 2,
  reason: '',
};

function put(id: number, key: string, tag: string, outcome: Operation['outcome'] = 'ok'): Operation {
  const times = { invokedUs: id * 10, completedUs: id * 10 + 5 };
  return { ...about, ...times, id, key, kind: 'put', tag, contextFrom: undefined, durableCopies: 2, outcome };
}

function finalRead(id: number, key: string, values: readonly string[], datacenter = 'dc1'): Operation {
  const times = { invokedUs: id * 10, completedUs: id * 10 + 5 };
  return { ...about, ...times, datacenter, id, key, kind: 'get', values, final: true, outcome: 'ok' };
}

const history = [
  put(0, 'b/k0', 'A'),
  put(1, 'b/k1', 'B'),
  put(2, 'b/k1', 'C', 'fail'),
  put(90, 'b/k1', 'D'),
  finalRead(100, 'b/k0', ['A']),
  finalRead(101, 'b/k1', ['D']),
];

const asked: JobRecord = {
  ...{ id: 'j0', client: 'j0', node: 'n1', kind: 'objects', keys: ['b/k0', 'b/k1'], invokedUs: 40 },
  ...{ completedUs: 50, outcome: 'ok', reason: '', counted: [], final: false },
  found: [
    { key: 'b/k0', tags: ['A'] },
    { key: 'b/k1', tags: ['B'] },
  ],
};

const brokenBy = (job: Partial<JobRecord>): string[] => [
  ...checkJobs(history, [{ ...asked, ...job }]).reasons,
];

test('a job reports each of its inputs once, in their order, with a value that a client wrote', () => {
  expect(checkJobs(history, [asked])).toMatchObject({ ok: true, checked: 3, skipped: 0 });
  expect(checkJobs(history, [{ ...asked, outcome: 'fail' }])).toMatchObject({
    ok: true,
    checked: 0,
    skipped: 1,
  });
  expect(brokenBy({ found: asked.found.slice(1) })[0]).toContain('it tells of b/k1');
  expect(brokenBy({ found: asked.found.toReversed() })[0]).toContain('it tells of b/k1 b/k0');
  const [first] = asked.found;
  const with1 = (tag: string): JobRecord['found'] => [
    first ?? { key: '', tags: [] },
    { key: 'b/k1', tags: [tag] },
  ];
  for (const tag of ['A', 'C', 'D', 'X']) {
    expect(brokenBy({ found: with1(tag) })[0]).toContain(
      `found ${tag} under b/k1, which no client had written`,
    );
  }
});

test('a count is the number of the inputs', () => {
  const count = { kind: 'count', found: [] } as const;
  expect(brokenBy({ ...count, counted: [2] })).toEqual([]);
  expect(brokenBy({ ...count, counted: [1] })[0]).toContain('it counts [1], of 2 inputs');
  expect(brokenBy({ ...count, counted: [] })[0]).toContain('it counts [], of 2 inputs');
});

test('after the calm a job finds the values that reads return, and omits none', () => {
  const final = { final: true, completedUs: 2000 } as const;
  const both = [
    { key: 'b/k0', tags: ['A'] },
    { key: 'b/k1', tags: ['D'] },
  ];
  expect(brokenBy({ ...final, found: both })).toEqual([]);
  expect(brokenBy({ ...final })[0]).toContain('it found B under b/k1, reads after the calm D');
  const whole = { ...final, kind: 'whole', keys: ['b/'] } as const;
  expect(brokenBy({ ...whole, found: both.toReversed() })).toEqual([]);
  expect(brokenBy({ ...whole, found: both.slice(0, 1) })[0]).toContain('it left out b/k1');
  expect(brokenBy({ ...whole, found: [...both, ...both] })[0]).toContain('it tells of');
});

test('after the calm a job finds what the reads of one datacenter return, where a write did not reach the other', () => {
  const final = { ...asked, final: true, completedUs: 2000 };
  const brokenIn = (dc2: readonly string[], tags: readonly string[]): readonly string[] => {
    const found = [{ key: 'b/k0', tags: ['A'] }, ...(tags.length === 0 ? [] : [{ key: 'b/k1', tags }])];
    const whole = { ...final, kind: 'whole', keys: ['b/'], found } as const;
    const { reasons } = checkJobs([...history, finalRead(102, 'b/k1', dc2, 'dc2')], [whole]);
    return reasons;
  };
  expect(brokenIn(['B'], ['B'])).toEqual([]);
  expect(brokenIn(['B'], ['D'])).toEqual([]);
  expect(brokenIn(['D'], ['B'])[0]).toContain('it found B under b/k1, reads after the calm D');
  expect(brokenIn(['B'], [])[0]).toContain('it left out b/k1');
  expect(brokenIn(['B'], ['B', 'D'])[0]).toContain('reads after the calm D or B');
  expect(brokenIn([], [])).toEqual([]);
});

test('after the calm a job may find, or not, a value that a pruned context may bring back', () => {
  const found = [
    { key: 'b/k0', tags: ['A'] },
    { key: 'b/k1', tags: ['B', 'D'] },
  ];
  const around = {
    ...{ nodes: ['n1'], opinions: { between: () => new Set(['NORMAL']) }, disturbances: [] },
    diskLosses: { lostBetween: () => 0 },
  };
  const isFine = (back: string): boolean => {
    const prunings = { mayBeBack: ({ tag }: { readonly tag: string }) => tag === back };
    return checkJobs(history, [{ ...asked, final: true, completedUs: 2000, found }], { ...around, prunings })
      .ok;
  };
  expect([isFine('B'), isFine('C')]).toEqual([true, false]);
});

test('a node accepts no more than a connection holds from a client that does not read, and answers it later', () => {
  const reading: SlowReading = {
    ...{ node: 'n1', atUs: 1, askedBytes: 1000, takenBytes: 500, asked: 10, answered: 10 },
  };
  const report = (more: Partial<SlowReading>): ReturnType<typeof checkSlowReaders> =>
    checkSlowReaders([{ ...reading, ...more }], 600);
  expect(report({})).toMatchObject({ ok: true, checked: 2 });
  expect(report({ answered: undefined })).toMatchObject({ ok: true, checked: 0, skipped: 1 });
  expect(report({ takenBytes: 700 }).reasons[0]).toContain('n1 took 700 of 1000 bytes');
  expect(report({ answered: 9 }).reasons[0]).toContain('answered 9 of 10');
});

test('a job finds a key that a majority held throughout, unless its node missed a peer or the key may be deleted', () => {
  const none = { ...asked, found: [{ key: 'b/k0', tags: [] }, ...asked.found.slice(1)] };
  const around = (...states: readonly string[]): Parameters<typeof checkJobs>[2] => ({
    nodes: ['n1', 'n2', 'n3'],
    opinions: { between: () => new Set(states) },
    diskLosses: { lostBetween: () => 0 },
    disturbances: [],
    prunings: nothingPruned,
  });
  expect(checkJobs(history, [none], around('NORMAL')).ok).toBe(false);
  expect(checkJobs(history, [asked], around('NORMAL')).ok).toBe(true);
  expect(checkJobs(history, [none], around('NORMAL', 'DOWN')).ok).toBe(true);
  const deletion: Operation = { ...put(2, 'b/k0', '', 'unknown'), kind: 'delete' } as Operation;
  expect(checkJobs([...history, deletion], [none], around('NORMAL')).ok).toBe(true);
});

test('a job that follows links after the calm finds those of exactly the values that reads showed', () => {
  const [even, odd, other] = ['«w:c0:2»', '«w:c0:3»', '«w:c1:5»'];
  const writes = [even, odd, other].map((tag, id) => put(id, 'b/k0', tag));
  const shown = [...writes, finalRead(100, 'b/k0', [even, odd, other])];
  const judged = (tags: readonly string[]): readonly string[] => {
    const found = [{ key: 'b/k0', tags }];
    const job: JobRecord = { ...asked, kind: 'links', keys: ['b/k0'], completedUs: 200, final: true, found };
    return checkJobs(shown, [job]).reasons;
  };
  // Values of even numbers have no links.
  expect(judged([odd, other])).toEqual([]);
  expect(judged([odd])[0]).toContain('reads after the calm');
  expect(judged([odd, other, '«w:c1:7»'])[0]).toContain('which no client had written');
});
