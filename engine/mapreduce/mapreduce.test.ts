import { expect, test } from 'vitest';
import { TestClock } from '../api/testing/test-io.fixture.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { SlowStore } from '../replica/replica-harness.fixture.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import { roundPartsOf } from '../replication/round-parts.fixture.ts';
import { noPhaseModules } from '../wasm/phase-modules.ts';
import { MapReduce } from './mapreduce.ts';
import { encodeWork } from './peer-messages.ts';

/** A node whose answers to coordinators hold at most `answerBytesMax` bytes. */
function nodeWith(answerBytesMax: number): MapReduce {
  const clock = new TestClock();
  const self = { node: 'n1' as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [0 as Token] };
  const plane = { request: () => expect.fail('no peer is asked') };
  const parts = roundPartsOf({ self, ring: new Ring([self]), plane, store: new SlowStore(), clock });
  const limits = { timeoutMs: 1000, jobCountMax: 1, bytesMax: 1024, batchMax: 10, answerBytesMax };
  return new MapReduce(
    { clock, spawn: (name, task) => void task().catch(() => expect.fail(name)) },
    {
      ...parts,
      coverage: { keys: () => expect.fail('no bucket is listed') },
      dispatcher: { get: () => expect.fail('no object is read') },
    },
    { tryRead: () => expect.fail('no object is read') },
    noPhaseModules,
    () => true,
    limits,
  );
}

test('a batch whose results exceed a message is refused, and does not count as served', async () => {
  const task = { kind: 'builtin', name: 'Riak.mapValues', arg: undefined } as const;
  const work = encodeWork({ task, reduce: undefined, leftUs: 1_000_000, items: [] });
  const ask = async (node: MapReduce): Promise<PeerReply> => {
    const reply = new Deferred<PeerReply>();
    node.answer(work, (one) => reply.resolve(one));
    return reply.promise;
  };
  const [able, unable] = [nodeWith(1024), nodeWith(0)];
  expect((await ask(able)).kind).toBe('phaseMapped');
  expect(able.counts.batchesServed).toBe(1);
  expect(await ask(unable)).toMatchObject({ kind: 'failed', code: 'TooLarge' });
  expect(unable.counts.batchesServed).toBe(0);
});
