/** When a sweep that cannot read the store is tried again, and which peer has its turn. */
import { expect, test } from 'vitest';

import { CountingRandom, settle, TestClock, TestLog } from '../api/testing/test-io.fixture.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { decodeQuestion, encodeAnswer } from './messages.ts';
import { Scheduler } from './scheduler.ts';
import { nothing, wholeRing } from './tree.ts';

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

/** How a peer answers every question about its tree. */
type Manner = 'equal' | 'busy' | 'off';

/** A scheduler with peers n2, n3, and so on, whose trees equal its own. */
function amongPeers(manners: readonly Manner[]): {
  readonly scheduler: Scheduler;
  readonly manners: Manner[];
  /** How often an exchange with each peer has finished, and how often each was asked, since the last call. */
  counts(): { readonly finished: readonly number[]; readonly asked: readonly number[] };
  pass(seconds: number): Promise<void>;
} {
  const clock = new TestClock();
  const log = new TestLog();
  const now = [...manners];
  const peers = manners.map((_, at) => ({ ...peer, node: `n${at + 2}` as NodeId, index: at + 1 }));
  const request = (
    node: NodeId,
    { words }: PeerRequest & { words: Uint8Array },
    _: number,
    answer: unknown,
  ) => {
    const question = decodeQuestion(words);
    const manner = now[peers.findIndex((one) => one.node === node)];
    const hashes = { kind: 'hashes', hashes: [nothing] } as const;
    const told = question.kind === 'close' ? { kind: 'closed' as const } : hashes;
    const reply: PeerReply =
      manner === 'off'
        ? { kind: 'failed', code: 'NotFound', detail: 'off' }
        : { kind: 'antiEntropyAnswered', words: encodeAnswer(manner === 'busy' ? { kind: 'busy' } : told) };
    (answer as (reply: PeerReply) => void)(reply);
    return 'ok';
  };
  const ring = [wholeRing];
  const parts = {
    io: { clock, log, random: new CountingRandom(), spawn: () => undefined },
    links: { request },
    refresh: {
      reread: () => Promise.resolve(),
      settle: () => Promise.resolve(),
      hashOf: () => nothing,
      tree: { segmentBits: 4 },
    },
    answerer: { begin: () => true, end: () => undefined },
    repairs: () => undefined,
    peers: () => peers,
    sharing: () => peers,
    mayEnd: () => true,
    shared: () => ring,
    ticked: () => Promise.resolve(),
    swept: () => undefined,
  };
  const options = { tickUs: 10 * second, fullSweepUs: 86_400 * second, answerUs: second };
  const scheduler = new Scheduler(parts as never, options);
  scheduler.start();
  const pass = async (seconds: number): Promise<void> => {
    for (let tenth = 0; tenth < 10 * seconds; tenth++) {
      clock.advance(second / 10);
      await settle();
    }
  };
  const counts = (): { finished: number[]; asked: number[] } => {
    const of = (event: string): number[] =>
      peers.map(
        ({ node }) =>
          log.events.filter(({ name, fields }) => name === event && fields['peer'] === node).length,
      );
    const found = { finished: of('aae.exchange.finished'), asked: of('aae.exchange.started') };
    log.events.length = 0;
    return found;
  };
  return { scheduler, manners: now, counts, pass };
}

test('a peer that is busy for long has its turn, and the others have theirs', async () => {
  const { manners, counts, pass } = amongPeers(['busy', 'equal', 'equal']);
  await pass(600);
  const { finished } = counts();
  expect(finished[1]).toBeGreaterThanOrEqual(25);
  expect(finished[2]).toBeGreaterThanOrEqual(25);
  manners[0] = 'equal';
  await pass(60);
  expect(counts().finished[0]).toBeGreaterThanOrEqual(1);
});

test('a sweep waits for a peer with which no exchange finishes, and the others have their turns', async () => {
  for (const manner of ['busy', 'off'] as const) {
    const { scheduler, manners, counts, pass } = amongPeers([manner, 'equal', 'equal']);
    expect(scheduler.sweep()).toBe(true);
    await pass(5);
    expect(counts().finished).toEqual([0, 1, 1]);
    await pass(600);
    const { finished, asked } = counts();
    // No peer is asked more often than a tick says, except the one that is busy.
    for (const count of finished.slice(1)) {
      expect(count).toBeGreaterThanOrEqual(10);
      expect(count).toBeLessThanOrEqual(80);
    }
    if (manner === 'off') expect(asked[0]).toBeLessThanOrEqual(40);
    manners[0] = 'equal';
    await pass(40);
    expect(scheduler.sweeping).toBe(false);
    expect(scheduler.record('n2' as NodeId)?.lastSweepMs).toBeGreaterThan(0);
  }
});

test('an operator may ask for a sweep while one waits for a peer with which exchanges fail', async () => {
  const { scheduler, pass } = amongPeers(['off', 'equal']);
  scheduler.sweep();
  expect(scheduler.sweep()).toBe(false);
  await pass(30);
  expect(scheduler.sweeping).toBe(false);
  expect(scheduler.sweep()).toBe(true);
});
