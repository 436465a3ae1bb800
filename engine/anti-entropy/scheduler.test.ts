/** When a sweep that cannot read the store is tried again. */
import { expect, test } from 'vitest';

import { CountingRandom, settle, TestClock, TestLog } from '../api/testing/test-io.fixture.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { Scheduler } from './scheduler.ts';

const second = 1_000_000;
const peer = { node: 'n2' as NodeId, index: 1, datacenter: 'dc1', rack: 'r2' };

/** A scheduler whose store cannot be read, its log, and a way to let seconds pass. */
interface Harness {
  readonly log: TestLog;
  readonly scheduler: Scheduler;
  begun(): number;
  pass(seconds: number): Promise<void>;
}

function harnessOf(): Harness {
  const clock = new TestClock();
  const log = new TestLog();
  let begun = 0;
  const spawn = (_: string, task: () => Promise<void>): void => {
    task().catch(() => undefined);
  };
  const refused = (): Promise<never> => Promise.reject(new LockstepError('StorageFailed', 'refused'));
  const answerer = {
    begin: () => {
      begun += 1;
      return true;
    },
    end: () => undefined,
  };
  const parts = {
    io: { clock, log, random: new CountingRandom(), spawn },
    links: { request: () => 'closed' },
    refresh: { reread: refused, settle: refused, cleanParts: () => [], tree: { segmentBits: 4 } },
    answerer,
    repairs: () => undefined,
    peers: () => [peer],
    sharing: () => [peer],
    mayEnd: () => true,
    shared: () => [],
    ticked: () => Promise.resolve(),
  };
  const options = { tickUs: second, fullSweepUs: 100 * second, answerUs: second };
  const scheduler = new Scheduler(parts as never, options);
  scheduler.start();
  scheduler.sweep();
  const pass = async (seconds: number): Promise<void> => {
    for (let tenth = 0; tenth < 10 * seconds; tenth++) {
      clock.advance(second / 10);
      await settle();
    }
  };
  return { log, begun: () => begun, pass, scheduler };
}

test('a sweep that fails rests longer and longer, and exchanges go on', async () => {
  const { log, begun, pass } = harnessOf();
  const failed = (): number => log.names.filter((name) => name === 'aae.sweep.failed').length;
  await pass(30);
  expect(failed()).toBeGreaterThanOrEqual(3);
  expect(failed()).toBeLessThanOrEqual(5);
  expect(begun()).toBeGreaterThanOrEqual(20);
  await pass(1000);
  expect(failed()).toBeLessThanOrEqual(18);
});

test('an operator may ask for a sweep while one rests that failed', async () => {
  const { log, pass, scheduler } = harnessOf();
  const failed = (): number => log.names.filter((name) => name === 'aae.sweep.failed').length;
  await pass(100);
  const before = failed();
  await pass(5);
  expect(failed()).toBe(before);
  expect(scheduler.sweep()).toBe(true);
  expect(scheduler.sweep()).toBe(false);
  await pass(5);
  expect(failed()).toBe(before + 1);
});
