/** How many rounds of syncs a client waits for: on disks that take 20 ms to sync, and a network that takes nothing. */
import { describe, expect, it } from 'vitest';

import { Lab, labNodes, put } from './lab.ts';

const syncUs = 20_000;

/** Milliseconds until the answer, in units of one sync. */
async function roundsOf(level: string, keys: (lab: Lab) => readonly string[]): Promise<number> {
  const lab = new Lab('sync rounds');
  await lab.start();
  const batch = { operations: keys(lab).map((key) => put(key, 'v')), consistency: level };
  await lab.call('n1', 'POST', '/transactions', batch);
  await lab.pass(1_000_000);
  for (const node of labNodes) {
    const delay = { minUs: syncUs, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    lab.cluster.host(node).disk.inject({ kind: 'FD5', operations: ['sync'], delay });
  }
  const sinceUs = lab.world.nowUs;
  const answer = await lab.call('n1', 'POST', '/transactions', batch);
  expect(answer).toMatchObject({ status: 200, body: { outcome: 'committed' } });
  return Math.floor((lab.world.nowUs - sinceUs) / syncUs);
}

describe('a commit waits for', () => {
  const each = (lab: Lab): readonly string[] => labNodes.map((node) => lab.key(node));

  // A store syncs one group at a time: what another primary sends while a node applies its own part goes with the next.
  it('four syncs over three primaries that are each other’s replicas: prepare, decision, apply, and a replica’s', async () => {
    expect(await roundsOf('DC_QUORUM', each)).toBe(4);
  });

  it('two at DC_ONE: the decision is the durable copy that was asked for', async () => {
    expect(await roundsOf('DC_ONE', each)).toBe(2);
  });

  const one = (lab: Lab): readonly string[] => [lab.key('n2', 0), lab.key('n2', 1)];

  it('two where one node is the primary of all its keys: its own, then a replica’s', async () => {
    expect(await roundsOf('DC_QUORUM', one)).toBe(2);
    expect(await roundsOf('DC_ONE', one)).toBe(1);
  });
});
