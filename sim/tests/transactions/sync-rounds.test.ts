/** Tests how many rounds of syncs a client waits for: the disks take 20 ms to sync, and the network has no delay. */
import { describe, expect, it } from 'vitest';

import { TransactionHarness, labNodes, put } from '../../explore/transaction-harness.ts';

const syncUs = 20_000;

/** Time until the answer, in units of one sync. */
async function roundsOf(
  level: string,
  keys: (lab: TransactionHarness) => readonly string[],
  copies: 1 | 3 = 3,
): Promise<number> {
  const lab = new TransactionHarness('sync rounds', {}, copies);
  await lab.start();
  const batch = { operations: keys(lab).map((key) => put(key, 'v')), consistency: level };
  await lab.call('n1', 'POST', '/transactions', batch);
  await lab.pass(1_000_000);
  for (const node of labNodes) {
    const delay = { minUs: syncUs, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    lab.cluster.host(node).disk.inject({ kind: 'slow-disk', operations: ['sync'], delay });
  }
  const sinceUs = lab.world.nowUs;
  const answer = await lab.call('n1', 'POST', '/transactions', batch);
  expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed' } });
  return Math.floor((lab.world.nowUs - sinceUs) / syncUs);
}

describe('a commit waits for', () => {
  const each = (lab: TransactionHarness): readonly string[] => labNodes.map((node) => lab.key(node));

  const two = (lab: TransactionHarness): readonly string[] => [lab.key('n2'), lab.key('n3')];

  // Primaries are each other’s replicas: what the others send is synced beside what a node applies itself.
  it('three syncs over several primaries: prepare, decision, and apply at as many replicas as the level names', async () => {
    expect(await roundsOf('DC_QUORUM', each)).toBe(3);
    expect(await roundsOf('DC_QUORUM', two)).toBe(3);
  });

  it('two at DC_ONE: the decision is the durable copy that was asked for', async () => {
    expect(await roundsOf('DC_ONE', each)).toBe(2);
  });

  it('two where each key has one copy: prepared and decided, it is as durable as can be', async () => {
    expect(await roundsOf('DC_QUORUM', each, 1)).toBe(2);
  });

  const one = (lab: TransactionHarness): readonly string[] => [lab.key('n2', 0), lab.key('n2', 1)];

  it('two where one node is the primary of all its keys: its own, then a replica’s', async () => {
    expect(await roundsOf('DC_QUORUM', one)).toBe(2);
    expect(await roundsOf('DC_ONE', one)).toBe(1);
  });

  it('one where that is the node that is asked, and each key has one copy', async () => {
    expect(await roundsOf('DC_QUORUM', (lab) => [lab.key('n1', 0), lab.key('n1', 1)], 1)).toBe(1);
  });

  it('one for a single put, beside those of the replicas, whichever node is asked: as for a put', async () => {
    for (const node of ['n1', 'n2'] as const) {
      expect(await roundsOf('DC_QUORUM', (lab) => [lab.key(node)])).toBe(1);
      expect(await roundsOf('DC_ONE', (lab) => [lab.key(node)])).toBe(1);
    }
  });
});
