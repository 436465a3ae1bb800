import { describe, expect, it } from 'vitest';

import { Deferred } from '../base/deferred.ts';
import { runRenewed } from './renewed.ts';

/** Nodes that only say what is done to them. */
class Nodes {
  readonly told: string[] = [];
  readonly left = new Deferred<void>();
  readonly rooms: (() => void)[] = [];
  #started = 0;

  start = (): ReturnType<Parameters<typeof runRenewed>[0]> => {
    const name = `node ${(this.#started += 1)}`;
    this.told.push(`${name} starts`);
    return Promise.resolve({
      left: this.left.promise,
      onRoom: (found) => this.rooms.push(found),
      stop: () => {
        this.told.push(`${name} stops`);
        return Promise.resolve();
      },
    });
  };

  /** The newest one's disk has room again. */
  async room(): Promise<void> {
    const count = this.rooms.length;
    this.rooms.at(-1)?.();
    await expect.poll(() => this.rooms.length).toBe(count + 1);
  }
}

describe('a node that is run', () => {
  it('is stopped, and started anew, each time that there is room again, until a stop is requested', async () => {
    const nodes = new Nodes();
    const stop = new Deferred<void>();
    const run = runRenewed(nodes.start, stop.promise);
    await expect.poll(() => nodes.rooms.length).toBe(1);
    await nodes.room();
    await nodes.room();
    stop.resolve();
    await run;
    const lives = ['node 1', 'node 2', 'node 3'];
    expect(nodes.told).toEqual(lives.flatMap((name) => [`${name} starts`, `${name} stops`]));
  });

  it('is stopped once it has left its cluster', async () => {
    const nodes = new Nodes();
    nodes.left.resolve();
    await runRenewed(nodes.start, new Promise(() => undefined));
    expect(nodes.told).toEqual(['node 1 starts', 'node 1 stops']);
  });

  it('that cannot be started anew is told of', async () => {
    const nodes = new Nodes();
    let starts = 0;
    const start = (): ReturnType<typeof nodes.start> =>
      (starts += 1) === 1 ? nodes.start() : Promise.reject(new Error('the port is taken'));
    const run = runRenewed(start, new Promise(() => undefined));
    const outcome = expect(run).rejects.toThrow('the port is taken');
    await expect.poll(() => nodes.rooms.length).toBe(1);
    nodes.rooms[0]?.();
    await outcome;
    expect(nodes.told).toEqual(['node 1 starts', 'node 1 stops']);
  });
});
