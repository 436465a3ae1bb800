/**
 * Transactions on a disk that stands still for longer than the store driver waits, and then goes on. No node restarts:
 * once the disk goes on, every outcome must be known and every lock released.
 */
import { beforeEach, describe, expect, it } from 'vitest';

import { driverDefaults } from '../../../engine/storage/driver.ts';
import type { HarnessNode } from '../../explore/transaction-harness.ts';
import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

const stallUs = driverDefaults.timeoutUs + 2_000_000;
const delay = { minUs: stallUs, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };

let room: TransactionHarness;

beforeEach(async ({ task }) => {
  room = new TransactionHarness(task.name);
  await room.start();
});

/** Syncs of the node that begin before `lift` take as long as the disk stands still. */
function stall(node: HarnessNode): { lift(): void } {
  return room.cluster.host(node).disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
}

type Answer = Readonly<Record<string, unknown>> | undefined;

/** Runs a transaction; the client waits for less than a second. */
async function ask(node: HarnessNode, operations: readonly object[], more: object = {}): Promise<Answer> {
  return (await room.call(node, 'POST', '/transactions', { operations, timeout_ms: 800, ...more }))?.body;
}

async function outcomeOf(node: HarnessNode, asked: Answer): Promise<unknown> {
  return (await room.call(node, 'GET', `/transactions/${String(asked?.['transaction_id'])}`))?.body[
    'outcome'
  ];
}

describe('a disk that stands still and goes on', () => {
  it.each([{ nodes: labNodes }, { nodes: ['n2', 'n3'] as const }])(
    'with a decision on its way to it leaves nothing in doubt (keys of $nodes)',
    async ({ nodes }) => {
      const keys = nodes.map((node) => room.key(node));
      const all = (value: string): readonly object[] => keys.map((key) => put(key, value));
      let stalled: { lift(): void } | undefined;
      room.onStep('c.decision.beforeLog', () => (stalled ??= stall('n1')));
      const asked = await ask('n1', all('one'));
      stalled?.lift();
      expect(asked?.['outcome']).toBe('in_doubt');
      await room.pass(stallUs);
      expect(await outcomeOf('n1', asked)).toBe('committed');
      for (const node of labNodes) for (const key of keys) expect(await room.read(node, key)).toBe('one');
      expect((await ask('n2', all('two')))?.['outcome']).toBe('committed');
    },
  );

  it.each(['n1', 'n2'] as const)(
    'with a write on condition on its way to it lets no other client’s condition hold (asked: %s)',
    async (asked) => {
      const key = room.key('n2');
      const create = (value: string): readonly object[] => [put(key, value, { if_absent: true })];
      const stalled = stall('n2');
      const first = await ask(asked, create('one'), { id: 'first' });
      stalled.lift();
      expect(first?.['outcome']).toBe('in_doubt');
      await room.pass(driverDefaults.timeoutUs);
      const second = await ask('n3', create('two'));
      await room.pass(stallUs);
      expect([await outcomeOf(asked, first), await outcomeOf('n3', second)]).toEqual([
        'committed',
        'aborted',
      ]);
      expect((await ask(asked, create('one'), { id: 'first' }))?.['outcome']).toBe('committed');
      for (const node of labNodes) expect(await room.read(node, key)).toBe('one');
      expect((await ask('n1', [put(key, 'three')]))?.['outcome']).toBe('committed');
    },
  );
});
