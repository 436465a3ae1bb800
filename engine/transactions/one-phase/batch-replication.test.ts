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

/** Not caught by anybody: the test fails. */
function fail(error: unknown): never {
  throw error;
}

/** n1, which has carried out batches on a key that n2 leads now; n2 answers nothing. */
class Room {
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
    );
  }

  /** So many more, whose rounds are over, without n2, or `under way`. */
  async follow(count: number, bytes: number, how: 'over' | 'under way' = 'over'): Promise<void> {
    const spread = how === 'over' ? Promise.resolve() : new Promise<void>(() => undefined);
    for (let index = 0; index < count; index++) {
      const xid = makeXid(n1.node, '0123456789ab', this.#count++);
      const items = [
        { key: `\0\0k${this.#count}` as PackedKey, token: 0x4000_0000 as Token, bytes: Buffer.alloc(bytes) },
      ];
      this.#spread.follow(xid, { isCalm: false, items, spread, holders: new Set() });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** What holds up the ring. */
  astray(): number {
    return this.#spread.astray(() => false).length;
  }

  get dropped(): number {
    return this.#log.names.filter((name) => name === 'xa.batch.untold').length;
  }
}

it('keeps so much at most for who is away, the youngest, and whatever is under way', async () => {
  const room = new Room();
  await room.follow(20, mib, 'under way');
  await room.follow(16, mib);
  expect(room.dropped).toBe(0);
  await room.follow(4, mib);
  expect(room.dropped).toBe(4);
  expect(room.astray()).toBe(0);
  room.away = false;
  expect(room.astray()).toBe(20 + 16);
});

it('keeps so many at most, and tells no more than a part of them at a time', async () => {
  const room = new Room();
  await room.follow(10_300, 1);
  expect(room.dropped).toBe(300);
  room.away = false;
  expect([room.astray(), room.asked]).toEqual([256, 256]);
  expect([room.astray(), room.asked]).toEqual([256, 256]);
});
