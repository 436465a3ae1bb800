import { expect, it } from 'vitest';

import { TestLog } from '../../api/testing/test-io.fixture.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import { BatchReplication } from './batch-replication.ts';
import { makeXid } from '../formats/xid.fixture.ts';

const mib = 1024 * 1024;
const n1 = { node: 'n1' as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [0 as Token] };
const n2 = { ...n1, node: 'n2' as NodeId, tokens: [0x8000_0000 as Token] };

/** Throws outside the test's promises, so that the test fails. */
function fail(error: unknown): never {
  throw error;
}

/** n1, which has applied batches to a key whose primary is n2 now. n2 never answers. */
class Harness {
  away = true;
  asked = 0;
  readonly #log = new TestLog();
  readonly #spread: BatchReplication;
  #count = 0;

  constructor() {
    const ring = new Ring([n1, n2]);
    this.#spread = new BatchReplication(
      { log: this.#log, spawn: (_name, task) => void task().catch(fail) },
      {
        self: n1,
        ring: () => ring,
        pending: () => [],
        member: () => n2,
        view: { isRoutable: () => !this.away },
        settings: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 1000 },
        plane: { request: () => ((this.asked += 1), 'ok') },
        stats: new NodeStats(),
        peerIndex: () => 0,
      },
      256,
    );
  }

  /** Calls `settled` as the publisher of ring views does. */
  onSettled(settled: () => void): void {
    this.#spread.onSettled(settled);
  }

  /** Follows `count` more batches of `bytes` each, whose rounds are over without n2, or with it, or under way. */
  async follow(count: number, bytes: number, how: 'over' | 'held' | 'under way' = 'over'): Promise<void> {
    const spread = how === 'under way' ? new Promise<void>(() => undefined) : Promise.resolve();
    const holders = new Set(how === 'held' ? [n2.node] : []);
    for (let index = 0; index < count; index++) {
      const xid = makeXid(n1.node, '0123456789ab', this.#count++);
      const items = [
        { key: `\0\0k${this.#count}` as PackedKey, token: 0x4000_0000 as Token, bytes: Buffer.alloc(bytes) },
      ];
      this.#spread.follow(xid, { isCalm: false, items, spread, holders });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** How many batches hold back the ring view. */
  astray(): number {
    return this.#spread.astray(() => false).length;
  }

  get dropped(): number {
    return this.#log.names.filter((name) => name === 'xa.batch.untold').length;
  }
}

it('keeps a bounded number of bytes for unreachable nodes: the newest batches, and all that are under way', async () => {
  const harness = new Harness();
  await harness.follow(20, mib, 'under way');
  await harness.follow(16, mib);
  expect(harness.dropped).toBe(0);
  await harness.follow(4, mib);
  expect(harness.dropped).toBe(4);
  expect(harness.astray()).toBe(0);
  harness.away = false;
  expect(harness.astray()).toBe(20 + 16);
});

it('keeps a bounded number of batches, and sends a bounded number at a time', async () => {
  const harness = new Harness();
  await harness.follow(10_300, 1);
  expect(harness.dropped).toBe(300);
  harness.away = false;
  expect([harness.astray(), harness.asked]).toEqual([256, 256]);
  expect([harness.astray(), harness.asked]).toEqual([256, 256]);
});

it('keeps no batch that the next primary has, and says so at once', async () => {
  const harness = new Harness();
  let settled = 0;
  harness.onSettled(() => (settled += 1));
  await harness.follow(16, mib, 'held');
  expect(settled).toBe(16);
  await harness.follow(16, mib);
  expect([harness.dropped, settled]).toEqual([0, 16]);
});
