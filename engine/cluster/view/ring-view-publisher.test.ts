import { describe, expect, it } from 'vitest';

import { RingViewPublisher } from './ring-view-publisher.ts';

/** A publisher whose view, holders and disk the test sets. `told`: the views that peers got, in sequence. */
function publisherOf(view: string) {
  const now = { view, held: [] as string[], disk: true };
  const told: string[] = [];
  const tasks: Promise<void>[] = [];
  const publisher: RingViewPublisher = new RingViewPublisher({
    io: {
      clock: { nowUs: () => 0, wallMs: () => 0, after: () => ({ cancel: () => undefined }) },
      log: { enabled: () => false, event: () => undefined },
      spawn: (_name, task) => void tasks.push(task()),
    },
    view: () => now.view,
    save: () => Promise.resolve(now.disk),
    tell: () => void told.push(publisher.view),
  });
  publisher.holdWhile(() => now.held);
  return { publisher, now, told, settled: () => Promise.all(tasks) };
}

describe('the published ring view', () => {
  it('is none before the incarnation knows what is under way here', async () => {
    const { publisher, told, settled } = publisherOf('a');
    publisher.refresh();
    await settled();
    expect([publisher.view, told]).toEqual(['-', []]);
    publisher.begin(true);
    expect(publisher.view).toBe('a');
  });

  it('is not the ring on its disk while something is under way by the old ring', async () => {
    const { publisher, now, told, settled } = publisherOf('b');
    now.held = ['n1-1'];
    publisher.begin(true);
    await settled();
    expect([publisher.view, told]).toEqual(['-', []]);
    expect(publisher.held.holders).toEqual(['n1-1']);
    now.held = [];
    publisher.refresh();
    await settled();
    expect([publisher.view, told]).toEqual(['b', ['b']]);
  });

  it('is what its disk has taken', async () => {
    const { publisher, now, told, settled } = publisherOf('a');
    now.disk = false;
    publisher.begin(false);
    await settled();
    expect([publisher.view, told]).toEqual(['-', []]);
    now.disk = true;
    publisher.refresh();
    await settled();
    expect([publisher.view, told]).toEqual(['a', ['a']]);
  });
});
