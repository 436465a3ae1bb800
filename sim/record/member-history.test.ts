import { expect, it } from 'vitest';

import { memberHistories } from './member-history.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Mark, MarkKind } from './recording.ts';

function mark(lane: number, atUs: number, kind: MarkKind, text: string): Mark {
  return { lane, atUs, kind, text, about: [] };
}

const marks = [
  mark(1, 100_000, 'start', 'host.booted life=1'),
  mark(1, 200_000, 'crash', 'host.crashed life=1'),
  mark(0, 250_000, 'ring', 'membership.peer.left peer=n2'),
  mark(1, 300_000, 'start', 'host.booted life=2'),
  mark(0, 300_100, 'ring', 'membership.peer.state.changed peer=n2 index=1 from=DOWN to=JOINING'),
  mark(0, 300_100, 'ring', 'membership.peer.state.changed peer=n2 index=1 from=JOINING to=DOWN'),
  mark(0, 300_200, 'ring', 'membership.peer.state.changed peer=n3 index=1 from=NORMAL to=DOWN'),
];

it('tells the life of a member that a node leaves out, and what that node has called it', () => {
  const text = 'n1 calls n1 n3 the owners, not n1 n2 n3';
  expect(memberHistories({ ...emptyRecording(), concern: { ...emptyConcern(), text }, marks })).toEqual([
    'n2, which n1 leaves out: at 0.1000 s n2 starts (incarnation 1); at 0.2000 s n2 dies (incarnation 1); at 0.3000 s n2 starts (incarnation 2). How n1 sees n2: at 0.2500 s takes n2 for one that has left; at 0.3001 s calls it JOINING and at once calls it DOWN.',
  ]);
});

it('says nothing of violations that are about no ring', () => {
  expect(memberHistories({ ...emptyRecording(), concern: emptyConcern(), marks })).toEqual([]);
});
