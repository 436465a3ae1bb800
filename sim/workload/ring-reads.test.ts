import { describe, expect, it } from 'vitest';

import { World } from '../world/world.ts';
import { RingReads } from './ring-reads.ts';

/** The views that a node answers, one a request; the last one for ever. */
type Views = readonly string[];

/** Asks n1 and n2 in a world; resolves with the views that were recorded and the number of requests. */
async function read(
  answers: Readonly<Record<string, Views>>,
  stopUs = Infinity,
): Promise<[string[], number]> {
  const world = new World({ seed: 1 });
  const asked = new Map<string, number>();
  const asker = {
    http: {
      request: async (host: string) => {
        const count = asked.get(host) ?? 0;
        asked.set(host, count + 1);
        const views = answers[host] ?? [];
        const body = { view: views[Math.min(count, views.length - 1)], members: [] };
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) };
      },
    },
    io: { clock: world.addHost('client').boot().clock },
    addressOf: (node: string) => node,
    nowUs: () => world.nowUs,
    stopped: () => world.nowUs >= stopUs,
  };
  const reads = new RingReads();
  const all = Promise.all(['n1', 'n2'].map((node) => reads.ask(node, 2, asker)));
  await world.run({ untilUs: 60_000_000 });
  await all;
  return [
    reads.records.map(({ seen }) => String(seen?.view)),
    [...asked.values()].reduce((sum, count) => sum + count, 0),
  ];
}

describe('reading the rings of all nodes', () => {
  it('asks each node once if they agree', async () => {
    expect(await read({ n1: ['a'], n2: ['a'] })).toEqual([['a', 'a'], 2]);
  });

  it('asks all again until they agree', async () => {
    expect(await read({ n1: ['a', 'a', 'b'], n2: ['b'] })).toEqual([['b', 'b'], 6]);
  });

  it('records rings that still differ after ten rounds, or when time is up', async () => {
    expect(await read({ n1: ['a'], n2: ['b'] })).toEqual([['a', 'b'], 22]);
    expect(await read({ n1: ['a'], n2: ['b'] }, 500_000)).toEqual([['a', 'b'], 8]);
  });
});
