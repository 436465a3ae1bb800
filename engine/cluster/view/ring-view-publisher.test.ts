import { describe, expect, it } from 'vitest';

import { RingViewPublisher } from './ring-view-publisher.ts';

/** A publication whose view, holders and disk the test decides; `told` is what peers were told, in order. */
function publicationOf(view: string) {
  const now = { view, held: [] as string[], disk: true };
  const told: string[] = [];
  const tasks: Promise<void>[] = [];
  const publication: RingViewPublisher = new RingViewPublisher({
    io: {
      clock: { nowUs: () => 0, wallMs: () => 0, after: () => ({ cancel: () => undefined }) },
      log: { enabled: () => false, event: () => undefined },
      spawn: (_name, task) => void tasks.push(task()),
    },
    view: () => now.view,
    save: () => Promise.resolve(now.disk),
    tell: () => void told.push(publication.view),
  });
  publication.holdWhile(() => now.held);
  return { publication, now, told, settled: () => Promise.all(tasks) };
}

describe('what a life tells of the ring', () => {
  it('is nothing before it knows what is under way here', async () => {
    const { publication, told, settled } = publicationOf('a');
    publication.refresh();
    await settled();
    expect([publication.view, told]).toEqual(['-', []]);
    publication.begin(true);
    expect(publication.view).toBe('a');
  });

  it('is not the ring on its disk while something is under way by the ring before', async () => {
    const { publication, now, told, settled } = publicationOf('b');
    now.held = ['n1-1'];
    publication.begin(true);
    await settled();
    expect([publication.view, told]).toEqual(['-', []]);
    expect(publication.held.holders).toEqual(['n1-1']);
    now.held = [];
    publication.refresh();
    await settled();
    expect([publication.view, told]).toEqual(['b', ['b']]);
  });

  it('is what its disk has taken', async () => {
    const { publication, now, told, settled } = publicationOf('a');
    now.disk = false;
    publication.begin(false);
    await settled();
    expect([publication.view, told]).toEqual(['-', []]);
    now.disk = true;
    publication.refresh();
    await settled();
    expect([publication.view, told]).toEqual(['a', ['a']]);
  });
});
