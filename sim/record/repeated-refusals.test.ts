import { expect, it } from 'vitest';

import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Mark } from './recording.ts';
import { repeatsOf } from './repeated-refusals.ts';

/** Marks of n1 (lane 0), 100 ms each, until `endUs`. */
function refusals(text: string, count: number, endUs: number, lane = 0): readonly Mark[] {
  return Array.from({ length: count }, (_, at) => {
    return { lane, atUs: endUs - (count - 1 - at) * 100_000, kind: 'ring' as const, text, about: [] };
  });
}

function told(...marks: readonly (readonly Mark[])[]): readonly string[] {
  const all = marks.flat().toSorted((left, right) => left.atUs - right.atUs);
  return repeatsOf({ ...emptyRecording(), concern: emptyConcern(), marks: all }).map(
    ({ mark, count, sinceUs }) => `n${mark.lane + 1} ${count} ${sinceUs} ${mark.text}`,
  );
}

it('a refusal that goes on until the violation is in the explanation, that of a named node first', () => {
  const link = 'peer.link.refused peer=n3 by=refused here reason=tokens';
  const record = 'membership.record.refused peer=n3 reason=tokens';
  expect(told(refusals(link, 12, 1_900_000), refusals(record, 6, 1_950_000, 1))).toEqual([
    `n2 6 1450000 ${record}`,
    `n1 12 800000 ${link}`,
  ]);
});

it('a few refusals, those that ended long before, and full channels go unsaid', () => {
  expect(
    told(
      refusals('membership.record.refused peer=n3 reason=tokens', 4, 1_900_000),
      refusals('peer.request.dropped peer=n3 kind=gossip outcome=closed', 12, 1_900_000),
    ),
  ).toEqual([]);
  const late = { ...emptyConcern(), atUs: 9_000_000 };
  const marks = refusals('membership.record.refused peer=n3 reason=tokens', 9, 1_900_000);
  expect(repeatsOf({ ...emptyRecording(), concern: late, marks })).toEqual([]);
});
