import { expect, test } from 'vitest';

import { OverloadGate } from '../api/session/overload-gate.ts';
import { TestClock } from '../api/testing/test-io.fixture.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { MemberRecord } from '../cluster/membership/member-record.ts';
import { tombstone } from '../replica/object/content.ts';
import type { JoinedReplacement } from '../replication/requests.ts';
import type { Xid } from '../transactions/formats/xid.ts';
import {
  admissionCheck,
  openDispatcher,
  openJobs,
  openLister,
  openTransactions,
  standbyCheck,
} from './standby-services.ts';

const name = byteStringOf('b');
let isStandby = true;
const self = { node: 'n1' } as MemberRecord;
const check = standbyCheck({ self, isStandby: (node: NodeId) => node === 'n1' && isStandby });

/** The outcome of a call: the code of its error (`NotFound` if the wrapped service was called), or `nothing`. */
async function outcomeOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return 'nothing';
  } catch (error) {
    return error instanceof LockstepError ? error.code : String(error);
  }
}

function behind(): never {
  throw new LockstepError('NotFound', 'it was let through');
}

function replacement(replaced: (error: unknown) => void): JoinedReplacement {
  const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
  return { key, content: tombstone, timeoutMs: 1, partOf: undefined, replaced };
}

const behindDispatcher = {
  get: behind,
  read: behind,
  readMany: behind,
  put: behind,
  replace: behind,
  replaceMany: behind,
};

test('services refuse every client request while the node is in STANDBY, and none before or after', async () => {
  const behindIt = { ...behindDispatcher, run: behind, keys: behind, buckets: behind, start: behind };
  const dispatcher = openDispatcher(behindIt, check);
  const whole = { ...behindIt, find: behind, survey: behind, inDoubt: () => [], resolve: behind };
  const transactions = openTransactions(whole, check);
  const lister = openLister(behindIt, check);
  let refusedJobs = 0;
  const jobs = openJobs({ ...behindIt, bytesMax: 7, refused: () => void (refusedJobs += 1) }, check);
  const calls: readonly (() => unknown)[] = [
    () => dispatcher.get({} as Parameters<typeof dispatcher.get>[0]),
    () =>
      new Promise((answered, failed) => {
        dispatcher.read({} as Parameters<typeof dispatcher.read>[0], { answered, failed });
      }),
    () => dispatcher.put({} as Parameters<typeof dispatcher.put>[0]),
    () =>
      new Promise((_, reject) => {
        dispatcher.replace({} as Parameters<typeof dispatcher.replace>[0], reject);
      }),
    () =>
      new Promise((_, reject) => {
        dispatcher.replaceMany([replacement(reject)]);
      }),
    () =>
      new Promise((answered, failed) => {
        dispatcher.readMany([{ key: replacement(failed).key, need: 'default', answered, failed }]);
      }),
    () => transactions.run({} as Parameters<typeof transactions.run>[0]),
    () => lister.keys(name, name, { live: true }, 0),
    () => lister.buckets(name, 0),
    () => jobs.start({} as Parameters<typeof jobs.start>[0]),
  ];
  for (const now of [false, true, false]) {
    isStandby = now;
    for (const call of calls) expect(await outcomeOf(call)).toBe(now ? 'Standby' : 'NotFound');
  }
  // The metrics of jobs count this refusal as they count their own.
  expect(refusedJobs).toBe(1);
  expect(jobs.bytesMax).toBe(7);
});

test('transactions in doubt can be listed and resolved in STANDBY', async () => {
  isStandby = true;
  const known = {
    run: behind,
    find: behind,
    survey: behind,
    inDoubt: () => [],
    resolve: () => Promise.resolve(true),
  };
  const transactions = openTransactions(known, check);
  expect(transactions.inDoubt()).toEqual([]);
  const xid = 'n1-0-1' as Xid;
  expect(await transactions.resolve(xid, 'commit')).toBe(true);
  expect(await outcomeOf(() => transactions.find(xid))).toBe('NotFound');
});

test('services refuse with Overloaded while requests wait too long, and go on beginning some', async () => {
  const clock = new TestClock();
  clock.holdsTurns = true;
  const membership = { self, isStandby: () => false };
  const admitted = admissionCheck(membership, new OverloadGate(clock, 100));
  const dispatcher = openDispatcher(behindDispatcher, admitted);
  const outcomes = new Map<string, number>();
  for (let turn = 0; turn < 10; turn++) {
    for (let count = 0; count < 200; count++) {
      const outcome = await outcomeOf(() => dispatcher.get({} as Parameters<typeof dispatcher.get>[0]));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (outcome === 'NotFound') clock.pass(1000);
    }
    clock.advance(0);
  }
  // Two turns of 200 ms make it an overload; each later one begins requests for 100 ms.
  expect([...outcomes]).toEqual([
    ['NotFound', 1208],
    ['Overloaded', 792],
  ]);
});
