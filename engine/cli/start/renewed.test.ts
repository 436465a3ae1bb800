import { describe, expect, it } from 'vitest';

import { present } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import type { Token } from '../../base/ids.ts';
import { parseToken } from '../../base/ids.ts';
import type { Io } from '../../io/io.ts';
import { DiskError } from '../../io/disk.ts';
import { runRenewed } from './renewed.ts';

/** A clock whose timers fire when the test fires them. */
const timers: (() => void)[] = [];
const clock: Io['clock'] = {
  nowUs: () => 0,
  wallMs: () => 0,
  after: (_us, fire) => {
    timers.push(fire);
    return { cancel: () => void timers.splice(timers.indexOf(fire), 1) };
  },
};

const io = { clock, log: { enabled: () => false, event: () => undefined } };

/** Nodes that only record what is done to them. */
class Nodes {
  readonly told: string[] = [];
  readonly left = new Deferred<void>();
  readonly rooms: (() => void)[] = [];
  readonly replacements: ((tokens: readonly Token[]) => void)[] = [];
  #started = 0;

  start = (tokens?: readonly Token[]): ReturnType<Parameters<typeof runRenewed>[1]> => {
    const name = `node ${(this.#started += 1)}`;
    this.told.push(`${name} starts${tokens === undefined ? '' : ` with ${tokens.join(' ')}`}`);
    return Promise.resolve({
      left: this.left.promise,
      onSpaceAvailable: (found) => this.rooms.push(found),
      onTokens: (told) => this.replacements.push(told),
      stop: () => {
        this.told.push(`${name} stops`);
        return Promise.resolve();
      },
    });
  };

  /** Reports that the newest node's disk has free space again. */
  async room(): Promise<void> {
    const count = this.rooms.length;
    this.rooms.at(-1)?.();
    await expect.poll(() => this.rooms.length).toBe(count + 1);
  }
}

describe('a node that is run', () => {
  it('is restarted each time its disk has free space again, until a stop is requested', async () => {
    const nodes = new Nodes();
    const stop = new Deferred<void>();
    const run = runRenewed(io, nodes.start, stop.promise);
    await expect.poll(() => nodes.rooms.length).toBe(1);
    await nodes.room();
    await nodes.room();
    stop.resolve();
    await run;
    const lives = ['node 1', 'node 2', 'node 3'];
    expect(nodes.told).toEqual(lives.flatMap((name) => [`${name} starts`, `${name} stops`]));
  });

  it('is restarted with the tokens that peers assign, and keeps them at later restarts', async () => {
    const nodes = new Nodes();
    const stop = new Deferred<void>();
    const run = runRenewed(io, nodes.start, stop.promise);
    await expect.poll(() => nodes.replacements.length).toBe(1);
    nodes.replacements[0]?.([5, 7].map((token) => present(parseToken(token), 'a token')));
    await expect.poll(() => nodes.replacements.length).toBe(2);
    await nodes.room();
    stop.resolve();
    await run;
    const starts = nodes.told.filter((line) => line.includes('starts'));
    expect(starts).toEqual(['node 1 starts', 'node 2 starts with 5 7', 'node 3 starts with 5 7']);
  });

  it('is stopped once it has left its cluster', async () => {
    const nodes = new Nodes();
    nodes.left.resolve();
    await runRenewed(io, nodes.start, new Promise(() => undefined));
    expect(nodes.told).toEqual(['node 1 starts', 'node 1 stops']);
  });

  it('rejects with the error of a restart that fails', async () => {
    const nodes = new Nodes();
    let starts = 0;
    const start = (): ReturnType<typeof nodes.start> =>
      (starts += 1) === 1 ? nodes.start() : Promise.reject(new Error('the port is taken'));
    const run = runRenewed(io, start, new Promise(() => undefined));
    const outcome = expect(run).rejects.toThrow('the port is taken');
    await expect.poll(() => nodes.rooms.length).toBe(1);
    nodes.rooms[0]?.();
    await outcome;
    expect(nodes.told).toEqual(['node 1 starts', 'node 1 stops']);
  });

  describe('whose disk is full again when it restarts', () => {
    const full = (): Error =>
      new Error('data_dir data', { cause: new DiskError('noSpace', 'write', 'identity.new') });

    async function fullAgain(): Promise<{ nodes: Nodes; stop: Deferred<void>; run: Promise<void> }> {
      const nodes = new Nodes();
      const stop = new Deferred<void>();
      let starts = 0;
      const start = (): ReturnType<typeof nodes.start> =>
        (starts += 1) === 2 ? Promise.reject(full()) : nodes.start();
      const run = runRenewed(io, start, stop.promise);
      await expect.poll(() => nodes.rooms.length).toBe(1);
      nodes.rooms[0]?.();
      await expect.poll(() => timers.length).toBe(1);
      return { nodes, stop, run };
    }

    it('is restarted again after a pause', async () => {
      const { nodes, stop, run } = await fullAgain();
      timers[0]?.();
      await expect.poll(() => nodes.rooms.length).toBe(2);
      stop.resolve();
      await run;
      const lives = ['node 1', 'node 2'];
      expect(nodes.told).toEqual(lives.flatMap((name) => [`${name} starts`, `${name} stops`]));
      expect(timers).toEqual([]);
    });

    it('ends if a stop is requested during the pause, and leaves no timer', async () => {
      const { nodes, stop, run } = await fullAgain();
      stop.resolve();
      await run;
      expect([nodes.told, timers]).toEqual([['node 1 starts', 'node 1 stops'], []]);
    });
  });
});
