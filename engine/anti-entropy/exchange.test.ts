/** What an exchange does where a node refuses a key or a segment. */
import { expect, test } from 'vitest';

import { settle, TestClock } from '../api/testing/test-io.fixture.ts';
import { LockstepError } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { objectKey } from '../base/object-key.ts';
import { exchange } from './exchange.ts';
import type { Answer, Question } from './messages.ts';
import type { Repair } from './repair.ts';
import { divide, nothing } from './tree.ts';
import type { TokenRange } from './tree.ts';

const segmentBits = 4;
const segmentTokens = 2 ** (32 - segmentBits);
const one = { high: 1, low: 1 };

/** Packed keys in order, the first in segment 0, the second in segment 1, and so on. */
const keys = ['a', 'b', 'c', 'd'].map(
  (name) => objectKey('default' as ByteString, 'b' as ByteString, name as ByteString).packed,
);

interface Course {
  readonly repaired: readonly PackedKey[];
  readonly asked: readonly Question['kind'][];
  readonly steps: readonly string[];
  readonly end: string;
}

/** An exchange with a peer that has a key in each of the first segments, while this node has none. */
async function exchangeWith(
  repairOf: (at: number) => Repair,
  answerInstead: (question: Question) => Answer | LockstepError | undefined = () => undefined,
): Promise<Course> {
  const clock = new TestClock();
  const asked: Question['kind'][] = [];
  const steps: string[] = [];
  const repaired: PackedKey[] = [];
  const hashOf = ({ first, last }: TokenRange): typeof one => {
    const held = keys.filter((_, at) => at * segmentTokens <= last && (at + 1) * segmentTokens > first);
    return { high: held.length, low: held.length };
  };
  const answer = (question: Question): Answer => {
    if (question.kind === 'close') return { kind: 'closed' };
    if (question.kind === 'list') {
      // One segment at a time.
      const at = Math.floor((question.ranges[0]?.first ?? 0) / segmentTokens);
      const key = keys[at];
      const entries = key === undefined ? [] : [{ key, token: at * segmentTokens, hash: one }];
      return { kind: 'lists', lists: [{ complete: true, entries }] };
    }
    const { kind, ranges } = question;
    const parts = kind === 'hashes' ? ranges : ranges.flatMap((range) => divide(range, segmentBits));
    return { kind: 'hashes', hashes: parts.map(hashOf) };
  };
  const peer = {
    identity: { node: 'n2' },
    ask: (question: Question) => {
      asked.push(question.kind);
      const instead = answerInstead(question);
      return instead instanceof LockstepError
        ? Promise.reject(instead)
        : Promise.resolve(instead ?? answer(question));
    },
  };
  const parts = {
    clock,
    refresh: {
      settle: () => Promise.resolve(),
      entriesOf: () => Promise.resolve([]),
      hashOf: () => nothing,
      isFormer: () => false,
      tree: { segmentBits },
    },
    throttle: { spend: () => Promise.resolve() },
    repair: (_: unknown, { key }: { key: PackedKey }) => {
      const repair = repairOf(keys.indexOf(key));
      if (repair.outcome === 'repaired') repaired.push(key);
      return Promise.resolve(repair);
    },
    step: (step: string) => void steps.push(step),
    listed: () => undefined,
    diverged: () => undefined,
    obstacle: () => undefined,
  };
  let end = '';
  const running = exchange(parts as never, peer as never, [{ first: 0, last: 2 ** 32 - 1 }]).then(
    (outcome) => void (end = outcome),
    (error: unknown) => void (end = error instanceof LockstepError ? error.code : 'another error'),
  );
  for (let tenth = 0; tenth < 50 && end === ''; tenth++) {
    await settle();
    clock.advance(100_000);
  }
  await running;
  return { repaired, asked, steps, end };
}

const repaired: Repair = { outcome: 'repaired', divergent: true };

function refusedWith(code: 'StaleEpoch' | 'Timeout'): Repair {
  return { outcome: 'Refused', divergent: true, refusal: new LockstepError(code) };
}

test('an exchange repairs what it can, and finishes', async () => {
  const { repaired: done, end, steps } = await exchangeWith(() => repaired);
  expect([done.toSorted(), end, steps.at(-1)]).toEqual([keys, 'finished', 'close']);
});

test('a key that is refused keeps no other key from its repair, and the exchange has not finished', async () => {
  for (let refused = 0; refused < keys.length; refused++) {
    const course = await exchangeWith((at) => (at === refused ? refusedWith('StaleEpoch') : repaired));
    expect(course.repaired.toSorted()).toEqual(keys.filter((_, at) => at !== refused));
    expect([course.end, course.steps.at(-1), course.asked.at(-1)]).toEqual(['StaleEpoch', 'repair', 'close']);
  }
});

test('after a key that waited in vain, the peer is asked whether it is still in the exchange', async () => {
  const late = (at: number): Repair => (at === 1 ? refusedWith('Timeout') : repaired);
  const isProbe = (question: Question): boolean => question.kind === 'hashes' && question.ranges.length === 0;
  const there = await exchangeWith(late);
  expect([there.repaired.length, there.end]).toEqual([3, 'Timeout']);
  const silent = await exchangeWith(late, (question) =>
    isProbe(question) ? new LockstepError('Timeout') : undefined,
  );
  expect(silent.end).toBe('Timeout');
  expect(silent.repaired.length).toBeLessThan(3);
  const elsewhere = await exchangeWith(late, (question) =>
    isProbe(question) ? { kind: 'busy' } : undefined,
  );
  expect(elsewhere.end).toBe('busy');
});

test('a segment that the disk of the peer refuses keeps no other one from being repaired', async () => {
  const {
    repaired: done,
    end,
    steps,
  } = await exchangeWith(
    () => repaired,
    (question) =>
      question.kind === 'list' && question.ranges[0]?.first === segmentTokens
        ? new LockstepError('StorageFailed')
        : undefined,
  );
  expect(done.toSorted()).toEqual(keys.filter((_, at) => at !== 1));
  expect([end, steps.at(-1)]).toEqual(['StorageFailed', 'list']);
});
