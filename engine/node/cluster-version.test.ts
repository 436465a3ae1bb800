/** Tests how a node learns the cluster's minimum from the gossip of members that have recorded it. */
import { expect, test } from 'vitest';

import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { Topic } from '../cluster/membership/membership.ts';
import { ClusterVersion } from './cluster-version.ts';

type Write = (error?: LockstepError) => void;

/** A node of today's build in a cluster that was begun by the build before. */
class Member {
  readonly version: ClusterVersion;
  /** The writes of the record that wait for the disk. */
  readonly writes: Write[] = [];
  topic: Topic | undefined;
  raised = 0;

  private constructor(version: ClusterVersion) {
    this.version = version;
    const store = {
      tryWrite: (_: unknown, done: Write): 'ok' => {
        this.writes.push(done);
        return 'ok';
      },
    };
    const log = { enabled: () => false, event: () => undefined };
    version.writeTo(store, log, { add: (_, topic) => void (this.topic = topic) }, () => void this.raised++);
  }

  static async start(max: number): Promise<Member> {
    return new Member(await ClusterVersion.open({ get: () => Promise.resolve(undefined) }, max));
  }

  /** A peer states the digest in a round of gossip. */
  async hears(digest: string): Promise<void> {
    this.topic?.heard('n2' as NodeId, digest);
    await settled();
  }

  /** The disk answers the first write that waits. */
  async written(error?: LockstepError): Promise<void> {
    this.writes.shift()?.(error);
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

test('a node records the minimum that a peer states in gossip, and states it itself once that is durable', async () => {
  const member = await Member.start(7);
  expect(member.topic?.digest()).toBe('3');
  await member.hears('7');
  expect([member.topic?.digest(), member.writes.length, member.raised]).toEqual(['3', 1, 0]);
  await member.written();
  expect([member.topic?.digest(), member.version.range, member.raised]).toEqual(['7', { min: 7, max: 7 }, 1]);
});

test('gossip that repeats the minimum while it is being recorded begins no further write', async () => {
  const member = await Member.start(7);
  for (let round = 0; round < 5; round++) await member.hears('7');
  await member.written();
  await member.hears('7');
  expect([member.writes.length, member.version.minimum, member.raised]).toEqual([0, 7, 1]);
});

test('a minimum that the disk refused is recorded at a later round of gossip', async () => {
  const member = await Member.start(7);
  await member.hears('7');
  await member.written(new LockstepError('StorageFailed', 'the disk is full'));
  expect(member.version.minimum).toBe(3);
  await member.hears('7');
  await member.written();
  expect(member.version.minimum).toBe(7);
});

test('a node ignores a minimum beyond what it speaks, a lower one, and what is no number', async () => {
  const member = await Member.start(6);
  for (const digest of ['7', '2', '3', '', 'x', '5.5', '-1', 'Infinity']) await member.hears(digest);
  expect([member.writes.length, member.version.minimum]).toEqual([0, 3]);
});
