import { expect, it } from 'vitest';

import { levelReach } from '../../evidence/level-reach.ts';
import { recordsOf, Server } from './pipeline-server.fixture.ts';
import { precedes } from './pipeline-steps.ts';
import { checkRedisPipelines } from './redis-pipelines.ts';

const usual = levelReach({});

it('one command after another keeps every promise', () => {
  const report = checkRedisPipelines(recordsOf(new Server(), 120), usual);
  expect(report.reasons).toEqual([]);
  expect(report.checked).toBeGreaterThan(3_000);
});

it('an acknowledged value that is not there is noticed', () => {
  const { reasons } = checkRedisPipelines(
    recordsOf(new Server((_, index) => (index === 5 ? 'refuses' : 'not')), 60),
    usual,
  );
  expect(reasons.join()).toContain('had replaced that of');
});

it('a level of one copy excuses a value that is not there, and no value replaced twice', () => {
  const records = recordsOf(new Server((_, index) => (index === 5 ? 'refuses' : 'not')), 60);
  expect(checkRedisPipelines(records, levelReach({ write_consistency: 'DC_ONE' })).reasons).toEqual([]);
});

it('a value whose writer was told no, and that is shown, is noticed', () => {
  const { reasons } = checkRedisPipelines(
    recordsOf(new Server((_, index) => (index === 5 ? 'denies' : 'not')), 60),
    usual,
  );
  expect(reasons.join()).toContain('it was refused');
});

it('a reply of another command is noticed', () => {
  const records = recordsOf(new Server(), 60).map((record) => ({
    ...record,
    replies: [...record.replies.slice(1), record.replies[0] ?? ''],
  }));
  expect(checkRedisPipelines(records, usual).reasons.join()).toContain('was answered');
});

it('a value of unknown outcome may be there or not', () => {
  const records = recordsOf(new Server((_, index) => (index === 5 ? 'denies' : 'not')), 60).map((record) => ({
    ...record,
    replies: record.replies.map((reply) => reply.replace('-OVERLOADED', '-NOQUORUM')),
  }));
  expect(checkRedisPipelines(records, usual).reasons).toEqual([]);
});

it('two increments of one value are noticed', () => {
  const records = recordsOf(new Server(), 80);
  const twice = records.map((record, index) => ({
    ...record,
    id: record.id,
    completedUs: index === 79 ? 1e9 : 1e8,
  }));
  const seen = twice.map((record) => ({ ...record, invokedUs: 0, repliedUs: record.replies.map(() => 1e8) }));
  // All at once, nothing precedes anything between pipelines: only a value replaced twice is left to notice.
  expect(checkRedisPipelines(seen, usual).reasons).toEqual([]);
  const at = seen.findIndex(
    ({ replies }, index) => index > 10 && replies.some((reply) => /^:\d{4,}$/.test(reply)),
  );
  const copy = seen.map((record, index) =>
    index === at
      ? {
          ...record,
          replies: record.replies.map((reply) => reply.replace(/^:(\d{4,})$/, (_, n) => `:${Number(n) - 1}`)),
        }
      : record,
  );
  expect(at).toBeGreaterThan(0);
  expect(checkRedisPipelines(copy, usual).ok).toBe(false);
});

it('what is in doubt may take effect after its client has given up', () => {
  const [first, second] = recordsOf(new Server(), 2);
  if (first === undefined || second === undefined) throw new Error('two records');
  const common = { index: 0, kind: 'del', key: 'h0', shown: undefined, leaves: 'nil' } as const;
  const earlier = { ...common, record: first, doneUs: second.invokedUs - 1 };
  const later = { ...common, index: 1, record: second, outcome: 'ok', doneUs: second.completedUs } as const;
  expect(precedes({ ...earlier, outcome: 'ok' }, later)).toBe(true);
  expect(precedes({ ...earlier, outcome: 'unknown' }, later)).toBe(false);
  // Commands of one pipeline on one key keep their order.
  expect(precedes({ ...later, index: 0, outcome: 'unknown' }, later)).toBe(true);
});
