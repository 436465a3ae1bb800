import { expect, test } from 'vitest';
import { TestClock } from '../api/testing/test-io.fixture.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { defaultType, unpackKey } from '../base/object-key.ts';
import { Ring } from '../cluster/ring/ring.ts';
import type { PeerLinks, ReplyHandler } from '../replication/peer-links.ts';
import { roundPartsOf } from '../replication/round-parts.fixture.ts';
import type { Actor } from '../replica/object/dots.ts';
import { applyWrite, encodeObject } from '../replica/object/object.ts';
import { contentOf, SlowStore } from '../replica/replica-harness.fixture.ts';
import type { Job, Phase } from './job.ts';
import { JobContext } from './job-context.ts';
import { MapReduceCounts } from './metrics.ts';
import { decodeWork, encodeWorkDone } from './peer-messages.ts';
import type { ObjectStore } from './phase-worker.ts';
import { PhaseWorker } from './phase-worker.ts';
import type { Batch } from './pipeline.ts';
import { runPipeline } from './pipeline.ts';

const mib = 1024 * 1024;
const dot = { actor: 'n1.a' as Actor, counter: 1 };
const n1 = { node: 'n1' as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [0 as Token] };

const n2 = { ...n1, node: 'n2' as NodeId, tokens: [0x8000_0000 as Token] };

/** Two nodes that hold a value of `valueBytes` bytes under every key, and count what they read. */
class Harness {
  readonly counts = new MapReduceCounts();
  /** Values read whole, now and at most at once. */
  reading = 0;
  readingMax = 0;
  readonly #valueBytes: number;
  readonly #context: JobContext;

  constructor(valueBytes: number) {
    this.#valueBytes = valueBytes;
    const clock = new TestClock();
    const worker = new PhaseWorker(this.#store(), { find: () => undefined }, clock);
    const answer = async (payload: Uint8Array, onReply: ReplyHandler): Promise<void> => {
      const done = await worker.work(decodeWork(payload));
      this.counts.mapped += done.count;
      onReply({ kind: 'phaseMapped', words: encodeWorkDone(done) });
    };
    const plane: PeerLinks = {
      request: (_peer, request, _timeoutUs, onReply) => {
        if (request.kind !== 'mapPhase') return expect.fail('only phases are asked for');
        answer(Uint8Array.from(request.words), onReply).catch(onFailure);
        return 'ok';
      },
    };
    const store = new SlowStore();
    const parts = roundPartsOf({ self: n1, ring: new Ring([n1, n2]), plane, store, clock });
    const coverage = { keys: () => expect.fail('no bucket is listed') };
    const dispatcher = { get: () => expect.fail('no object is read from the cluster') };
    const limits = { deadlineUs: 60_000_000, bytesMax: 64 * mib, batchMax: 1000 };
    this.#context = new JobContext(
      { ...parts, coverage, dispatcher },
      worker,
      new Map(),
      this.counts,
      limits,
    );
  }

  #store(): ObjectStore {
    return {
      tryRead: (packed, done, bytesMax = Infinity) => {
        const isWhole = this.#valueBytes <= bytesMax;
        if (isWhole) this.readingMax = Math.max(this.readingMax, (this.reading += 1));
        setImmediate(() => {
          if (isWhole) this.reading -= 1;
          if (isWhole) done(undefined, this.#valueOf(packed));
          else done(undefined, undefined, this.#valueBytes);
        });
        return 'ok';
      },
    };
  }

  #valueOf(packed: PackedKey): Uint8Array {
    const name = unpackKey(packed)?.key ?? '';
    const content = contentOf(name.padEnd(this.#valueBytes, '.'));
    return encodeObject(applyWrite(undefined, [], content, dot, 1));
  }

  run(count: number, ...phases: readonly Phase[]): AsyncGenerator<Batch, void, undefined> {
    const items = Array.from({ length: count }, (_, index) => {
      const key = byteStringOf(`k${index}`);
      return { type: defaultType, bucket: byteStringOf('b'), key, keydata: undefined };
    });
    const job: Job = { inputs: { kind: 'list', items }, phases, timeoutMs: undefined };
    return runPipeline(job, this.#context);
  }
}

function phaseOf(kind: 'map' | 'reduce', name: string, keep: boolean): Phase {
  return { kind, run: { kind: 'builtin', name }, arg: undefined, keep };
}

const values = phaseOf('map', 'Riak.mapValues', true);

/** Throws outside the test's promises, so that the test fails. */
function onFailure(error: unknown): never {
  throw error;
}

test('a map phase over large values holds a bounded number of bytes while its reader rests', async () => {
  const harness = new Harness(mib / 8);
  const batches = harness.run(600, values);
  const first = await batches.next();
  expect(first.done).toBe(false);
  for (let turn = 0; turn < 400; turn++) await new Promise((resolve) => setImmediate(resolve));
  // Four batches under way and the first part: 4 MiB, and one answer of 512 KiB of each of the two nodes.
  expect(harness.counts.mapped).toBeLessThanOrEqual(4 * 8 * 6);
  await batches.return();
});

test('all results of large values come, in the order of the inputs', async () => {
  const harness = new Harness(mib / 8);
  const names: string[] = [];
  let batches = 0;
  for await (const { values: part } of harness.run(100, values)) {
    batches += 1;
    for (const value of part)
      names.push(typeof value === 'string' ? value.slice(0, 4).replaceAll('.', '') : '');
  }
  expect(names).toEqual(Array.from({ length: 100 }, (_, index) => `k${index}`));
  expect(batches).toBeGreaterThan(2);
});

test('of large values a node reads one at a time for a batch', async () => {
  const harness = new Harness(mib / 8);
  for await (const _ of harness.run(40, values));
  expect(harness.readingMax).toBeLessThanOrEqual(2);
});

test('small values are read together, and a batch returns them as one', async () => {
  const harness = new Harness(10);
  const sizes: number[] = [];
  for await (const { values: part } of harness.run(300, values)) sizes.push(part.length);
  expect(sizes).toEqual([256, 44]);
  expect(harness.readingMax).toBeGreaterThanOrEqual(64);
});
