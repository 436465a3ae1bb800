/**
 * Tests the hand-over of ranges by a node that has lost records of them: the new owner gets what other replicas still
 * hold, so that its copy counts as the former one did.
 */
import { describe, expect, test } from 'vitest';

import type { NodeId } from '../../../engine/base/ids.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { Ring } from '../../../engine/cluster/ring/ring.ts';
import { routeToken, tokensOfNode } from '../../../engine/cluster/ring/token.ts';
import { MemberHarness, second } from './member-harness.ts';

const keys = Array.from({ length: 20 }, (_, key) => `k${10 + key}`);
const [place, rotten] = [{ datacenter: 'dc1', rack: 'r1' }, 'n1'];
const settings = { aae_enabled: false, hinted_handoff: false, leave_patience_seconds: 20 };

function isOfTokens(ring: Ring, key: string, node: string): boolean {
  const token = routeToken('STD', byteStringOf('b'), byteStringOf(key));
  return ring.placement(token).some((member) => member.node === node);
}

/**
 * Nodes in three racks, where n1 and n2 alone hold the keys, and the values that n1 holds of them rot. `mate`: joins the
 * rack of n1 before anything is written.
 */
async function harnessOf(seed: string, mate?: string): Promise<MemberHarness> {
  const harness = new MemberHarness(seed, 3, settings);
  await harness.startAll();
  if (mate !== undefined) await join(harness, mate);
  harness.cluster.crash('n3', 'keepAll', 'silent');
  // A rotten record at the very end of a log would look as if it was never synced.
  for (const key of [...keys, 'last'])
    expect((await harness.ask('n2', 'PUT', `/buckets/b/keys/${key}`, `value of ${key}`)).status).toBe(204);
  await harness.start('n3');
  harness.cluster.crash(rotten, 'keepAll', 'silent');
  const { disk } = harness.cluster.host(rotten);
  for (const key of keys) {
    const files = [...disk.durableFiles()].map(
      ([path, bytes]) => [path, bytes.indexOf(`value of ${key}`)] as const,
    );
    const found = files.filter(([, at]) => at >= 0);
    for (const [path, at] of found) expect(disk.rot(path, at, 3)).toBe(true);
  }
  await harness.start(rotten);
  expect(await harness.until(() => harness.allAre('NORMAL'), 20 * second)).toBe(true);
  return harness;
}

/** A node joins the rack of n1. */
async function join(harness: MemberHarness, name: string): Promise<void> {
  harness.cluster.add({ name, ...place }, { join: 'joining' });
  await harness.start(name);
  expect(await harness.until(() => harness.allAre('NORMAL'), 20 * second)).toBe(true);
  await harness.pass(3 * second);
}

/** The answers to quorum reads of the keys while n2, the only other holder, is away. */
async function readWithoutN2(harness: MemberHarness, moved: readonly string[]): Promise<readonly string[]> {
  harness.cluster.crash('n2', 'keepAll', 'silent');
  await harness.pass(second);
  const answers: string[] = [];
  for (const key of moved) {
    const { status, body } = await harness.ask('n3', 'GET', `/buckets/b/keys/${key}`);
    answers.push(status === 200 ? body.toString() : String(status));
  }
  return answers;
}

describe('a range whose records are lost at its owner', () => {
  test('is handed over whole to a joining node', async () => {
    const harness = await harnessOf('join-lost');
    const joiner = { node: 'n4' as NodeId, ...place, tokens: tokensOfNode('n4' as NodeId, 16) };
    const moved = keys.filter((key) =>
      isOfTokens(new Ring([...harness.cluster.ring.members, joiner]), key, 'n4'),
    );
    expect(moved.length).toBeGreaterThan(3);
    await join(harness, 'n4');
    expect(await readWithoutN2(harness, moved)).toEqual(moved.map((key) => `value of ${key}`));
    expect(harness.world.failures).toEqual([]);
  });

  test('is handed over whole by a leaving node, to owners that have less', async () => {
    const harness = await harnessOf('leave-lost', 'n4');
    harness.cluster.change(rotten);
    expect(await harness.until(() => !harness.cluster.isUp(rotten), 30 * second)).toBe(true);
    expect(await readWithoutN2(harness, keys)).toEqual(keys.map((key) => `value of ${key}`));
    expect(harness.world.failures).toEqual([]);
  });

  test('is handed over after a while although another replica stays away', async () => {
    const harness = await harnessOf('leave-alone', 'n4');
    harness.cluster.crash('n2', 'keepAll', 'silent');
    harness.cluster.change(rotten);
    await harness.pass(10 * second);
    expect(harness.cluster.isUp(rotten)).toBe(true);
    expect(await harness.until(() => !harness.cluster.isUp(rotten), 60 * second)).toBe(true);
    expect(harness.world.failures).toEqual([]);
  });
});
