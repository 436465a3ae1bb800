/**
 * Backups in a storm: nodes crash and lose their power at every step of a backup, nodes join and leave. Whatever a
 * backup holds is a state of the history. `LOCKSTEP_BACKUP_STORMS=N` runs N seeds.
 */
import { describe, expect, test } from 'vitest';

import type { BackupNode } from '../../../engine/backup/messages.ts';
import { selectionOf } from '../../../engine/backup/selection.ts';
import type { Random } from '../../../engine/io/random.ts';
import { pick } from '../../../engine/io/random.ts';
import { second } from '../cluster/member-harness.ts';
import { alone, BackupHarness } from './backup-harness.ts';
import { checkState, PairClient } from './pair-client.ts';

const settings = { gossip_interval_ms: 200, transfer_bytes_per_second: 10_000_000 };
const storms = Number(process.env['LOCKSTEP_BACKUP_STORMS'] ?? 1);
const steps = ['hold', 'cut', 'release', 'read', 'end'] as const;
const rounds = 5;

/** One storm over one cluster. */
class Storm {
  readonly harness: BackupHarness;
  readonly clients: readonly PairClient[];
  readonly random: Random;

  constructor(seed: string) {
    this.harness = new BackupHarness(seed, 4, settings, 3);
    const { room, operator } = this.harness;
    this.clients = ['a', 'b', 'c'].map((name) => new PairClient(name, room, operator));
    this.random = operator.io.random.fork('storm');
  }

  async begin(): Promise<void> {
    await this.harness.room.startAll();
    for (const client of this.clients) client.start();
    await this.harness.room.pass(second);
  }

  async end(): Promise<void> {
    await this.harness.settled(Promise.all(this.clients.map((client) => client.stop())));
    expect(this.harness.room.world.failures).toEqual([]);
  }

  /** Fails a node, and starts it again a moment later. */
  crash(): void {
    const { cluster, world } = this.harness.room;
    const name = pick(this.random, cluster.members);
    if (!cluster.isUp(name)) return;
    cluster.crash(
      name,
      pick(this.random, ['keepAll', 'dropAll', 'torn']),
      pick(this.random, ['silent', 'reset']),
    );
    world.after(second / 10 + this.random.below(2 * second), 'the node returns', () => cluster.start(name));
  }

  /** Crashes a node when the backup asks for one step for the given time, before or after the step. */
  aimed(): (node: BackupNode) => BackupNode {
    const step = pick(this.random, steps);
    const before = this.random.chance(1, 2);
    let left = this.random.below(step === 'read' ? 12 : 4);
    return (node) => {
      const around = async <T>(name: (typeof steps)[number], act: () => Promise<T>): Promise<T> => {
        const strikes = name === step && left-- === 0;
        if (strikes && before) this.crash();
        const answer = await act();
        if (strikes && !before) this.crash();
        return answer;
      };
      return {
        address: node.address,
        hold: (...asked) => around('hold', () => node.hold(...asked)),
        cut: (...asked) => around('cut', () => node.cut(...asked)),
        release: (...asked) => around('release', () => node.release(...asked)),
        read: (...asked) => around('read', () => node.read(...asked)),
        end: (...asked) => around('end', () => node.end(...asked)),
      };
    };
  }

  /** Takes a backup; false if there is none. */
  async backup(as: (node: BackupNode) => BackupNode): Promise<boolean> {
    const { cluster } = this.harness.room;
    const names = cluster.members.filter((name) => cluster.isUp(name));
    return this.harness.settled(
      this.harness.backup(names, as).then(
        () => true,
        () => false,
      ),
    );
  }

  /** Checks the newest backup, which began at `sinceUs`. */
  async check(sinceUs: number): Promise<void> {
    const state = await this.harness.open();
    const values = await this.harness.read(state);
    expect(state.decided.inDoubt).toEqual([]);
    await this.harness.settled(state.close());
    checkState(this.clients, values, sinceUs);
  }
}

describe('a backup in a storm', () => {
  test.each(Array.from({ length: storms }, (_, index) => index + 1))(
    'holds a state of the history (storm %i)',
    async (number) => {
      const storm = new Storm(`storm ${number}`);
      const { room } = storm.harness;
      await storm.begin();
      let taken = 0;
      for (let round = 0; round < rounds; round++) {
        if (round === 1) {
          room.cluster.add({ name: 'n5', datacenter: 'dc1', rack: 'r2' }, { join: 'joining' });
          room.cluster.start('n5');
        }
        if (round === 3) room.cluster.change('n4');
        const sinceUs = room.world.nowUs;
        if (await storm.backup(storm.random.chance(3, 4) ? storm.aimed() : (node) => node)) {
          taken += 1;
          await storm.check(sinceUs);
        }
        await room.pass(second / 4 + storm.random.below(second));
      }
      await storm.end();
      expect(taken).toBeGreaterThan(0);
    },
  );

  test('is restored by bucket: of transactions over several, what is in the named ones', async () => {
    const storm = new Storm('by bucket');
    await storm.begin();
    expect(await storm.backup((node) => node)).toBe(true);
    await storm.end();
    const state = await storm.harness.open();
    const known = state.buckets();
    expect(known.map(({ type, bucket }) => `${type}/${bucket}`)).toEqual([
      'default/bucket-x',
      'default/bucket-y',
    ]);
    const half = await storm.harness.read(state, selectionOf(['bucket-x'], undefined, known));
    expect([...half.keys()].filter((key) => !key.includes('x'))).toEqual([]);
    expect(half.size * 2).toBe((await storm.harness.read(state)).size);
    await storm.harness.settled(state.close());
  });

  test('is seen to hold none if one node is cut at another moment, or an acknowledged write is missing', async () => {
    const storm = new Storm('planted');
    await storm.begin();
    const sinceUs = storm.harness.room.world.nowUs;
    expect(await storm.backup((node) => node)).toBe(true);
    await storm.check(sinceUs);
    await storm.harness.room.pass(second);
    await expect(storm.check(storm.harness.room.world.nowUs)).rejects.toThrow('was acknowledged before');
    let wrong = 0;
    for (let round = 0; round < 20 && wrong === 0; round++) {
      const beganUs = storm.harness.room.world.nowUs;
      if (await storm.backup(alone)) await storm.check(beganUs).catch(() => (wrong += 1));
    }
    expect(wrong).toBe(1);
    await storm.end();
  });
});
