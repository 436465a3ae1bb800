/**
 * Every error, and every wake-up past the ports, is a failure of the world with its time and host, and is never lost.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { compileModule } from '../../../engine/real/compiled-modules.fixture.ts';
import { assert } from '../../../engine/base/assert.ts';
import { sleep } from '../../../engine/io/clock.ts';
import { World } from '../world.ts';

describe('a failure', () => {
  it('of an event has its time and host, and the run goes on', async () => {
    const world = new World({ seed: 1 });
    const { clock } = world.addHost('n1').boot();
    let after = 0;
    clock.after(1000, () => {
      throw new Error('a bug');
    });
    clock.after(2000, () => (after += 1));
    await world.run({ untilUs: 5000 });
    expect(world.failures).toMatchObject([{ atUs: 1000, host: 'n1', what: 'event' }]);
    expect(after).toBe(1);
  });

  it('of a task is counted, logged and the world’s', async () => {
    const world = new World({ seed: 1 });
    const io = world.addHost('n1').boot();
    const logged: unknown[] = [];
    world.trace.on('task.failed', ({ host, fields }) => logged.push([host, fields]));
    io.spawn('repair', async () => {
      await sleep(io.clock, 700);
      throw new RangeError('a bug');
    });
    await world.run({ untilUs: 5000 });
    expect(world.failures).toMatchObject([{ atUs: 700, host: 'n1', what: 'task repair' }]);
    expect(io.failedTasks()).toBe(1);
    expect(logged).toEqual([['n1', { task: 'repair', error: 'a bug' }]]);
  });

  it('of an assertion ends the process at once, whatever its code catches, and is counted and logged', async () => {
    const world = new World({ seed: 1 });
    const host = world.addHost('n1');
    const io = host.boot();
    const heard: unknown[] = [];
    world.trace.on('assertion.failed', ({ host: name, fields }) => heard.push([name, fields]));
    world.onFailedAssertion((name) => {
      heard.push(io.failedAssertions());
      world.mustGetHost(name).crash('keepAll', 'reset');
    });
    io.clock.after(700, () => {
      try {
        assert(false, 'a lock has one holder');
      } catch {
        io.log.event('info', 'thing.happened');
      }
    });
    world.trace.on('thing.happened', () => heard.push('the process went on'));
    await world.run({ untilUs: 5000 });
    expect(world.failures).toMatchObject([{ atUs: 700, host: 'n1', what: 'assertion' }]);
    expect(heard).toEqual([['n1', { detail: 'a lock has one holder' }], 1]);
    expect(host.alive).toBe(false);
  });

  it('of code that goes round without waiting for anything ends the process', async () => {
    const world = new World({ seed: 1 });
    const host = world.addHost('n1');
    const { clock } = host.boot();
    world.onFailedAssertion((name) => world.mustGetHost(name).crash('keepAll', 'reset'));
    const goRound = async (): Promise<void> => {
      for (;;) {
        clock.nowUs();
        await Promise.resolve();
      }
    };
    clock.after(700, () => void goRound().catch(() => undefined));
    await world.run({ untilUs: 5000 });
    expect(world.failures).toMatchObject([{ atUs: 700, host: 'n1', what: 'assertion' }]);
    expect(host.alive).toBe(false);
  });

  it('of a listener does not reach the engine', async () => {
    const world = new World({ seed: 1 });
    const io = world.addHost('n1').boot();
    world.trace.on('thing.happened', () => {
      throw new Error('a bad listener');
    });
    io.log.event('info', 'thing.happened');
    expect(world.failures).toMatchObject([{ what: 'listener of thing.happened' }]);
  });

  it('of an incarnation that is over does not count', async () => {
    const world = new World({ seed: 1 });
    const host = world.addHost('n1');
    const io = host.boot();
    io.spawn('late', async () => {
      await sleep(io.clock, 100);
      host.crash('dropAll');
      throw new Error('thrown by a dead process');
    });
    await world.run({ untilUs: 5000 });
    expect(world.failures).toEqual([]);
  });

  it('is a time that stands still', async () => {
    const world = new World({ seed: 1 });
    const again = (): void => void world.at(500, 'again', again);
    again();
    await world.run({ untilUs: 1000 });
    expect(world.failures).toMatchObject([{ atUs: 500, what: 'event' }]);
    expect(String(world.failures[0]?.error)).toContain('StandstillError');
  });

  it('is an unhandled rejection, and a wake-up past the ports', async () => {
    // In a separate process, because the test runner handles unhandled rejections itself.
    const directory = await mkdtemp(join(tmpdir(), 'lockstep-failures-'));
    try {
      await compileModule('sim/world/world.ts', directory);
      await writeFile(join(directory, 'main.js'), processProgram);
      const { stdout } = await promisify(execFile)(process.execPath, [join(directory, 'main.js')]);
      expect(JSON.parse(stdout)).toEqual([
        ['n1', 'promise', 1000],
        ['n2', 'promise', 2000],
        ['n2', 'outside'],
      ]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

const processProgram = `
import { World } from './sim/world/world.js';
const world = new World({ seed: 1 });
const [one, two] = ['n1', 'n2'].map((name) => world.addHost(name).boot());
one.clock.after(1000, async () => { throw new Error('forgotten'); });
two.clock.after(2000, () => { Promise.resolve().then(() => { throw new Error('deep'); }); });
two.clock.after(3000, () => setTimeout(() => two.clock.after(1, () => {}), 1));
const busy = () => { for (const end = performance.now() + 0.02; performance.now() < end; ); one.clock.after(1, busy); };
one.clock.after(4000, busy);
await world.run({ untilUs: 10_000 });
const told = world.failures.map(({ host, what, atUs }) => what === 'outside' ? [host, what] : [host, what, atUs]);
console.log(JSON.stringify(told));
`;
