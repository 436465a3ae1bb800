/** Tests MapReduce under faults: nodes that die during a job, partitions, clients that disconnect, modules. */
import { beforeAll, describe, expect, it } from 'vitest';
import { marksBytes } from '../../workload/work-modules.ts';
import { JobHarness, jobNodes } from './job-harness.ts';

const count = 200;
const jobs = 'svc_mapred_jobs_total';
const query = [
  { map: { name: 'map_extract_field', arg: 'n', keep: true } },
  { reduce: { name: 'reduce_sum' } },
];
const job = { inputs: 'things', query };
const sum = (count * (count - 1)) / 2;

async function filled(seed: string, settings: Readonly<Record<string, unknown>> = {}): Promise<JobHarness> {
  const room = new JobHarness(seed, { gossip_interval_ms: 200, ...settings });
  await room.start();
  await room.fill('things', count, (index) => JSON.stringify({ n: index }));
  await room.pass(500_000);
  return room;
}

describe('a job', () => {
  let room: JobHarness;
  let calm: unknown;
  beforeAll(async () => {
    room = await filled('faults');
    calm = await room.run('n1', job);
  });

  it('gives the same answer when a node dies in the middle of it', async () => {
    expect(calm).toMatchObject([{ length: count }, [sum]]);
    let retried = 0;
    for (const [round, atUs] of [2_000, 5_000, 12_000].entries()) {
      const victim = jobNodes[1 + (round % 5)] ?? 'n2';
      const before = room.counted('n1', 'svc_mapred_retried_total');
      const answer = room.begin('n1', job);
      await room.pass(atUs);
      room.cluster.crash(victim, 'dropAll', round % 2 === 0 ? 'silent' : 'reset');
      await room.world.runUntil(answer, 60_000_000);
      const { status, text } = await answer;
      expect([victim, status, JSON.parse(text) as unknown]).toEqual([victim, 200, calm]);
      retried += room.counted('n1', 'svc_mapred_retried_total') - before;
      await room.restart(victim);
    }
    expect(retried).toBeGreaterThan(0);
  });

  it('is answered on the side of a partition that holds every key, and refused by name on the other', async () => {
    const cut = room.world.network.partition(['n6', 'n3'], ['n1', 'n2', 'n4', 'n5']);
    expect(await room.run('n1', job)).toEqual(calm);
    cut.lift();
    await room.pass(3_000_000);
    const alone = room.world.network.partition(['n6'], ['n1', 'n2', 'n3', 'n4', 'n5']);
    expect(await room.run('n6', { ...job, timeout: 20_000 })).toMatchObject({ status: 503 });
    alone.lift();
    await room.pass(3_000_000);
    expect(await room.run('n6', job)).toEqual(calm);
  });

  it('ends with its client, and with its time', async () => {
    const before = room.counted('n4', jobs, { outcome: 'cancelled' });
    for (const chunked of ['', '?chunked=true']) {
      await room.world.runUntil(
        room.begin('n4', job, chunked, 4_000).catch(() => undefined),
        1_000_000,
      );
      await room.pass(100_000);
    }
    expect(room.counted('n4', jobs, { outcome: 'cancelled' }) - before).toBe(2);
    expect(await room.run('n4', { ...job, timeout: 1 })).toEqual({
      status: 503,
      text: '{"error":"timeout"}',
    });
    expect(room.counted('n4', jobs, { outcome: 'timedOut' })).toBe(1);
    for (const node of jobNodes) expect(room.counted(node, 'svc_mapred_jobs_running')).toBe(0);
  });

  it('fails if its results are too many to be collected, and is not counted as one whose client has gone', async () => {
    const room = await filled('collected', { mapred_bytes_max: 1024 });
    const whole = { inputs: 'things', query: [{ map: { name: 'map_identity' } }] };
    expect(await room.run('n1', whole)).toMatchObject({ status: 413 });
    const counted = (outcome: string): number => room.counted('n1', jobs, { outcome });
    await room.pass(1_500_000);
    expect(['failed', 'cancelled', 'completed'].map(counted)).toEqual([1, 0, 0]);
    expect(room.counted('n1', 'svc_mapred_jobs_running')).toBe(0);
  });

  it('gives results that are too large for a message between nodes, whichever node is asked', async () => {
    const room = new JobHarness('large', {
      ...{ gossip_interval_ms: 200, value_bytes_max: 65_536, frame_bytes_max: 327_680 },
    });
    await room.start();
    // As JSON each of them has six times as many bytes.
    const value = (index: number): string => `${index}`.padEnd(60_000, '\u0001');
    await room.fill('large', 4, value);
    const whole = { inputs: 'large', query: [{ map: { name: 'Riak.mapValues' } }] };
    for (const node of jobNodes) {
      const values = (await room.run(node, whole)) as readonly string[];
      expect([node, [...values].sort()]).toEqual([node, [0, 1, 2, 3].map(value)]);
    }
    expect(room.world.failures).toEqual([]);
  });

  it('is counted by how it ended, and leaves nothing behind', async () => {
    const completed = room.counted('n5', jobs, { outcome: 'completed' });
    await room.run('n5', job);
    await room.run('n5', { inputs: 'things' });
    expect(room.counted('n5', jobs, { outcome: 'completed' }) - completed).toBe(1);
    expect(room.counted('n5', jobs, { outcome: 'refused' })).toBe(1);
    expect(room.world.failures).toEqual([]);
    const left = await room.cluster.stopAll(20_000_000);
    for (const leaks of left.values()) expect(leaks).not.toBe('stuck');
  });
});

describe('a job with a Wasm phase', () => {
  const marks = { map: { language: 'wasm', module: 'marks' } };
  const put = (room: JobHarness, version: number): Promise<unknown> =>
    room.world
      .httpClient(room.visitor)
      .request(
        room.cluster.address('n1', 'http'),
        { method: 'PUT', path: '/wasm/modules/marks', body: marksBytes(version) },
        20_000_000,
      );

  it('runs one version of its module, although it is replaced meanwhile', async () => {
    const room = await filled('swapped');
    const registered = put(room, 1);
    await room.world.runUntil(registered, 20_000_000);
    await registered;
    const all = (version: number): number[] => Array.from({ length: count }, () => version);
    expect(await room.run('n3', { inputs: 'things', query: [marks] })).toEqual(all(1));
    const seen = new Set<unknown>();
    for (const [round, atUs] of [1_000, 5_000, 12_000].entries()) {
      const answer = room.begin('n3', { inputs: 'things', query: [marks] });
      const swap = room.wait(atUs).then(() => put(room, (round % 3) + 1));
      const both = Promise.all([answer, swap]);
      await room.world.runUntil(both, 60_000_000);
      const { status, text } = await answer;
      const values = JSON.parse(text) as number[];
      expect([status, new Set(values).size, values.length]).toEqual([200, 1, count]);
      seen.add(values[0]);
    }
    expect(seen.size).toBeGreaterThan(1);
    const reduced = { inputs: 'things', query: [{ reduce: { language: 'wasm', module: 'marks' } }] };
    expect(((await room.run('n2', reduced)) as number[]).length).toBeGreaterThan(0);
    expect(room.world.failures).toEqual([]);
  });

  it('runs at its coordinator where the limits of the replicas do not allow the module', async () => {
    const room = new JobHarness('low limits', { gossip_interval_ms: 200 });
    const low = { wasm_module_bytes_max: 1024 };
    await room.start({ n2: low, n3: low, n4: low, n5: low, n6: low });
    await room.fill('things', 20, (index) => JSON.stringify({ n: index }));
    // A custom section makes the module too large for the others.
    const section = Buffer.concat([Buffer.of(0, 0xd1, 0x0f, 0), Buffer.alloc(2000)]);
    const address = room.cluster.address('n1', 'http');
    const registered = room.world
      .httpClient(room.visitor)
      .request(
        address,
        { method: 'PUT', path: '/wasm/modules/marks', body: Buffer.concat([marksBytes(1), section]) },
        20_000_000,
      );
    await room.world.runUntil(registered, 20_000_000);
    expect((await registered).status).toBe(201);
    expect(await room.run('n1', { inputs: 'things', query: [marks] })).toEqual(
      Array.from({ length: 20 }, () => 1),
    );
    expect(room.world.failures).toEqual([]);
  });

  it('is refused where the feature is off, once it has been read', async () => {
    const room = new JobHarness('off', { features_wasm: false });
    await room.start();
    expect(await room.run('n1', { inputs: [['b', 'k']], query: [marks] })).toMatchObject({ status: 501 });
    const unsound = { inputs: [['b', 'k']], query: [{ map: { language: 'wasm' } }] };
    expect(await room.run('n1', unsound)).toMatchObject({ status: 400 });
  });
});
