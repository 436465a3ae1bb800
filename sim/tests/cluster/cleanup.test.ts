/**
 * Tests the cleanup of keys that a node no longer owns: it keeps them until their owners surely hold them, then removes
 * them.
 */
import { beforeEach, describe, expect, test } from 'vitest';

import type { NodeId } from '../../../engine/base/ids.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { Ring } from '../../../engine/cluster/ring/ring.ts';
import { routeToken, tokensOfNode } from '../../../engine/cluster/ring/token.ts';
import { MemberHarness, second } from './member-harness.ts';

const keys = Array.from({ length: 40 }, (_, key) => `k${key}`);
const delaySeconds = 4;
/**
 * The engine's own keys of a joined node: its log horizon, the incarnations that kept the log, the incarnations of its
 * files, that it has received all bucket properties, and the cluster's minimum version of peer messages.
 */
const joinersRecords = 5;
/** An initial member has one more: that its empty disk has been filled. */
const ownRecords = joinersRecords + 1;
const joiner = {
  node: 'n4' as NodeId,
  datacenter: 'dc1',
  rack: 'r1',
  tokens: tokensOfNode('n4' as NodeId, 16),
};

describe('keys that a node has given away', () => {
  let room: MemberHarness;
  let moved: readonly string[];

  beforeEach(async () => {
    room = new MemberHarness('cleanup', 3, { transfer_drop_delay_seconds: delaySeconds, aae_enabled: false });
    await room.startAll();
    const ring = new Ring([...room.cluster.ring.members, joiner]);
    moved = keys.filter((key) => {
      return ring.placement(routeToken('STD', byteStringOf('b'), byteStringOf(key))).includes(joiner);
    });
    for (const key of keys) expect(await ask('n1', 'PUT', key, `value of ${key}`)).toBe(204);
    room.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    await room.start('n4');
    expect(await room.until(() => room.allAre('NORMAL'), 10 * second)).toBe(true);
  });

  async function ask(name: string, method: 'PUT' | 'GET', key: string, body = ''): Promise<number | string> {
    const isPut = method === 'PUT';
    const { status, body: got } = await room.ask(
      name,
      method,
      `/buckets/b/keys/${key}`,
      isPut ? body : undefined,
    );
    return method === 'PUT' ? status : got.toString();
  }

  test('go once the ring has stood still for a while, and come back when the node owns them again', async () => {
    expect(moved.length).toBeGreaterThan(5);
    expect(await room.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length);
    await room.pass((delaySeconds + 3) * second);
    expect(await room.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length - moved.length);
    expect(await room.count('n1', 'svc_transfer_keys_dropped_total')).toBe(moved.length);
    expect(await room.count('n2', 'svc_transfer_keys_dropped_total')).toBe(0);
    for (const key of keys) expect(await ask('n1', 'GET', key)).toBe(`value of ${key}`);
    room.cluster.change('n4');
    // The node hands its keys over and leaves.
    await room.pass(10 * second);
    expect(room.cluster.isUp('n4')).toBe(false);
    expect(await room.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length);
    expect(room.world.failures).toEqual([]);
  });

  test('are sent to every owner before their removal, because no other node may hold them', async () => {
    const alone = new MemberHarness('cleanup-alone', 3, {
      transfer_drop_delay_seconds: delaySeconds,
      aae_enabled: false,
      hinted_handoff: false,
    });
    await alone.startAll();
    for (const away of ['n2', 'n3']) alone.cluster.crash(away, 'keepAll', 'silent');
    for (const key of keys) {
      expect((await alone.ask('n1', 'PUT', `/buckets/b/keys/${key}?w=1`, 'value')).status).toBe(204);
    }
    await alone.start('n2', 'n3');
    expect(await alone.until(() => alone.allAre('NORMAL'), 10 * second)).toBe(true);
    expect(await alone.count('n2', 'svc_store_keys')).toBe(ownRecords);
    alone.cluster.add({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'joining' });
    await alone.start('n4');
    await alone.pass((delaySeconds + 13) * second);
    expect(await alone.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length - moved.length);
    for (const owner of ['n2', 'n3']) {
      expect(await alone.count(owner, 'svc_store_keys')).toBe(ownRecords + moved.length);
    }
    expect(alone.world.failures).toEqual([]);
  });

  test('stay while one of their owners is away', async () => {
    // n4 has stated the ring view of its last step.
    await room.pass(second);
    const refusedUs: number[] = [];
    room.world.trace.on('transfer.cleanup.kept', ({ atUs }) => refusedUs.push(atUs));
    room.cluster.crash('n4', 'keepAll', 'silent');
    await room.pass((delaySeconds + 20) * second);
    expect(await room.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length);
    // One line a walk, a walk a second, and none once the owner is called DOWN.
    const downUs = room.moves.find(({ by, peer, to }) => by === 'n1' && peer === 'n4' && to === 'DOWN')?.atUs;
    expect(refusedUs.length).toBeGreaterThan(0);
    expect(refusedUs.filter((atUs) => atUs > Number(downUs))).toEqual([]);
    expect(refusedUs.length).toBeLessThan(22);
    room.cluster.start('n4');
    await room.pass((delaySeconds + 6) * second);
    expect(await room.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length - moved.length);
    expect(room.world.failures).toEqual([]);
  });

  test('are there still for an owner that lost its disk before all had agreed to it, and joins again', async () => {
    room.cluster.crash('n4', 'dropAll', 'silent');
    room.cluster.host('n4').disk.wipe();
    room.cluster.start('n4');
    await room.pass((delaySeconds + 12) * second);
    expect(await room.count('n4', 'svc_store_keys')).toBe(joinersRecords + moved.length);
    expect(await room.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length - moved.length);
    expect(room.world.failures).toEqual([]);
  });

  test('stay when their owner has lost its disk and says that it joins, which is refused', async () => {
    await room.pass(second);
    const reasons = new Set<unknown>();
    room.world.trace.on('peer.link.refused', ({ fields }) => reasons.add(fields['reason']));
    room.cluster.crash('n4', 'dropAll', 'silent');
    room.cluster.host('n4').disk.wipe();
    room.cluster.start('n4');
    await room.pass((delaySeconds + 12) * second);
    expect(reasons).toContain('identity');
    expect(await room.count('n4', 'svc_store_keys')).toBe(joinersRecords);
    expect(await room.count('n1', 'svc_store_keys')).toBe(ownRecords + keys.length);
    expect(room.world.failures).toEqual([]);
  });

  test('are read back from the other racks by an owner that has lost its disk after they went', async () => {
    await room.pass((delaySeconds + 3) * second);
    room.cluster.crash('n4', 'dropAll', 'silent');
    room.cluster.host('n4').disk.wipe();
    room.cluster.reconfigure({ name: 'n4', datacenter: 'dc1', rack: 'r1' }, { join: 'member' });
    await room.start('n4');
    await room.pass(3 * second);
    expect(await room.count('n4', 'svc_store_keys')).toBe(ownRecords + moved.length);
    expect(room.allAre('NORMAL')).toBe(true);
    expect(room.world.failures).toEqual([]);
  });
});
