import { describe, expect, it } from 'vitest';

import { Deferred } from '../base/deferred.ts';
import type { Clock, Timer } from '../io/clock.ts';
import { NodeStats } from './node-stats.ts';
import type { PublisherIo } from './publisher.ts';
import { StatsPublisher } from './publisher.ts';
import { histogramTurnUs } from './rolling-histogram.ts';

/** A clock that the test moves. */
class ManualClock implements Clock {
  #nowUs = 5_000_000;
  #timers: { atUs: number; fire: () => void }[] = [];

  nowUs(): number {
    return this.#nowUs;
  }

  wallMs(): number {
    return 1_700_000_000_999 + Math.floor(this.#nowUs / 1000);
  }

  after(delayUs: number, fire: () => void): Timer {
    const timer = { atUs: this.#nowUs + delayUs, fire };
    this.#timers.push(timer);
    return { cancel: () => (this.#timers = this.#timers.filter((other) => other !== timer)) };
  }

  get armed(): number {
    return this.#timers.length;
  }

  /** Jumps to an instant, then fires the due timers, as in a process that was suspended. */
  jump(byUs: number): void {
    this.#nowUs += byUs;
    const due = this.#timers.filter((timer) => timer.atUs <= this.#nowUs);
    this.#timers = this.#timers.filter((timer) => timer.atUs > this.#nowUs);
    for (const timer of due) timer.fire();
  }
}

const identity = { source: 'n1', version: '0', rack: 'r', dc: 'd', pool: 'lockstep', server: 'store_local' };

function setting(): {
  clock: ManualClock;
  stats: NodeStats;
  publisher: StatsPublisher;
  settle: () => Promise<void>;
  failures: unknown[];
} {
  const clock = new ManualClock();
  const stats = new NodeStats();
  const tasks: Promise<void>[] = [];
  const failures: unknown[] = [];
  const doors: PublisherIo = {
    clock,
    residentBytes: () => 77,
    spawn: (_name, task) => {
      tasks.push(task().catch((error: unknown) => void failures.push(error)));
    },
  };
  const publisher = new StatsPublisher(doors, stats, identity, 1000);
  const settle = async (): Promise<void> => {
    await Promise.all(tasks.splice(0));
  };
  return { clock, stats, publisher, settle, failures };
}

describe('the stats publisher', () => {
  it('publishes both formats of one snapshot at every interval', async () => {
    const { clock, stats, publisher, settle } = setting();
    publisher.start();
    expect(publisher.current.json().toString()).toContain('"uptime":0,"timestamp":1700000005,');
    stats.pool.client_eof = 3;
    clock.jump(999_999);
    await settle();
    expect(publisher.current.json().toString()).toContain('"client_eof":0');
    clock.jump(1);
    await settle();
    const { snapshot } = publisher.current;
    const json = publisher.current.json();
    const metrics = await publisher.current.metrics();
    expect(snapshot.sequence).toBe(2);
    expect(json.toString()).toContain('"uptime":1,"timestamp":1700000006,');
    expect(json.toString()).toContain('"dyn_memory":77,"lockstep":{"client_eof":3,');
    expect(metrics.toString()).toContain('\nsvc_pool_client_eof_total{pool="lockstep"} 3\n');
    expect(metrics.toString()).toContain('\nsvc_uptime_seconds 1\n');
  });

  it('renders each format once, from the snapshot and not from later counts', async () => {
    const { stats, publisher } = setting();
    publisher.start();
    const { current } = publisher;
    const early = current.json();
    stats.pool.client_eof = 3;
    expect((await current.metrics()).toString()).toContain(
      '\nsvc_pool_client_eof_total{pool="lockstep"} 0\n',
    );
    expect(current.json()).toBe(early);
    expect(await current.metrics()).toBe(await current.metrics());
  });

  it('renders two publications at once, each as its own', async () => {
    const { clock, stats, publisher, settle } = setting();
    publisher.start();
    const older = publisher.current;
    stats.pool.client_eof = 3;
    clock.jump(1_000_000);
    await settle();
    const [first, second] = await Promise.all([older.metrics(), publisher.current.metrics()]);
    expect(first.toString()).toContain('\nsvc_pool_client_eof_total{pool="lockstep"} 0\n');
    expect(second.toString()).toContain('\nsvc_pool_client_eof_total{pool="lockstep"} 3\n');
  });

  it('renders in microtasks only, so that a simulated world can run it', async () => {
    const { clock, publisher } = setting();
    publisher.start();
    clock.jump(1_000_000);
    let rendered = false;
    const metrics = publisher.current.metrics().then(() => {
      rendered = true;
    });
    const immediate = new Deferred<void>();
    setImmediate(() => immediate.resolve());
    await immediate.promise;
    expect(publisher.current.snapshot.sequence).toBe(2);
    expect(rendered).toBe(true);
    await metrics;
  });

  it('skips the intervals during which the process was suspended', async () => {
    const { clock, publisher, settle } = setting();
    publisher.start();
    clock.jump(10_400_000);
    await settle();
    expect(publisher.current.snapshot.sequence).toBe(2);
    clock.jump(999_999);
    await settle();
    expect(publisher.current.snapshot.sequence).toBe(2);
    clock.jump(1);
    await settle();
    expect(publisher.current.snapshot.sequence).toBe(3);
    expect(clock.armed).toBe(1);
  });

  it('reports a failed publication, and goes on', async () => {
    const { clock, stats, publisher, settle, failures } = setting();
    publisher.start();
    let broken = true;
    stats.providePoolGauge('peer_in_queue', () => (broken ? 0.5 : 1));
    clock.jump(1_000_000);
    await settle();
    expect(failures).toHaveLength(1);
    expect(publisher.current.snapshot.uptimeSeconds).toBe(0);
    broken = false;
    clock.jump(1_000_000);
    await settle();
    expect(publisher.current.snapshot.uptimeSeconds).toBe(2);
  });

  it('keeps its last publication when it stops, and leaves no timer', async () => {
    const { clock, publisher, settle } = setting();
    publisher.start();
    publisher.stop();
    expect(clock.armed).toBe(0);
    clock.jump(5_000_000);
    await settle();
    expect(publisher.current.snapshot.sequence).toBe(1);
  });

  it('drops a peak after at most two turns of the histograms', async () => {
    const { clock, stats, publisher, settle } = setting();
    publisher.start();
    stats.requestLatencyUs.record(30_000_000);
    clock.jump(1_000_000);
    await settle();
    expect(publisher.current.snapshot.rollups.requestLatencyUs.max).toBe(30_000_000);
    clock.jump(histogramTurnUs);
    await settle();
    expect(publisher.current.snapshot.rollups.requestLatencyUs.max).toBe(30_000_000);
    clock.jump(histogramTurnUs);
    await settle();
    clock.jump(1_000_000);
    await settle();
    expect(publisher.current.snapshot.rollups.requestLatencyUs.max).toBe(0);
  });
});
