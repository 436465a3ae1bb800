import { expect, it } from 'vitest';

import { lostValuesOf } from './lost-values.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Mark, RecordedOperation, Recording } from './recording.ts';

const put = (id: string, tag: string, node: number, invokedUs: number): RecordedOperation => ({
  ...{ id, lane: 3, node, invokedUs, completedUs: invokedUs + 3000, outcome: 'ok', about: [0] },
  text: `${id} c0 put newest/k3 «${tag}» at n${node + 1}: ok in 3.0 ms`,
});
const write = put('#1', 'w:c0:1', 0, 1000);
const held = (lane: number, atUs: number, text: string) => ({ lane, atUs, key: 0, text });

function toldOf(parts: Partial<Recording>): readonly string[] {
  return lostValuesOf({ ...emptyRecording(), concern: emptyConcern(), ...parts }, write).map(
    ({ lane, atUs, holds, reasons }) => [`n${lane + 1} ${atUs} ${holds}`, ...reasons].join(', '),
  );
}

it('a value is lost where a node that held it holds its key without it', () => {
  const states = [
    held(0, 2000, '«w:c0:1» (9 bytes)'),
    held(1, 2000, '«w:c0:1» (9 bytes)'),
    held(0, 9000, '«w:c0:1» «w:c0:2» (18 bytes)'),
    held(1, 9000, '«w:c0:2» (9 bytes)'),
  ];
  expect(toldOf({ states })).toEqual(['n2 9000 «w:c0:2»']);
});

it('the operation that the node carries out is the reason, else the message that reached it', () => {
  const states = [
    held(0, 2000, '«w:c0:1» (9 bytes)'),
    held(1, 2000, '«w:c0:1» (9 bytes)'),
    held(0, 9000, '«w:c0:2» (9 bytes)'),
    held(1, 9500, '«w:c0:2» (9 bytes)'),
  ];
  const operations = [write, put('#2', 'w:c0:2', 0, 8000)];
  const messages = [
    { from: 0, to: 1, sentUs: 9000, arrivedUs: 9400, kind: 0, bytes: 9, about: [0] },
    { from: 0, to: 1, sentUs: 100, arrivedUs: 200, kind: 1, bytes: 9, about: [0] },
  ];
  expect(toldOf({ states, operations, messages })).toEqual([
    'n1 9000 «w:c0:2», as it carries out #2 c0 put newest/k3 «w:c0:2» at n1',
    'n2 9500 «w:c0:2», after the mergeObject of n1',
  ]);
});

it('a node that starts has lost it in its crash', () => {
  const mark = (atUs: number, kind: Mark['kind']): Mark => ({ lane: 0, atUs, kind, text: '', about: [] });
  expect(
    toldOf({
      states: [held(0, 2000, '«w:c0:1» (9 bytes)'), held(0, 60_000, 'nothing')],
      marks: [mark(40_000, 'crash'), mark(50_000, 'start')],
    }),
  ).toEqual(['n1 60000 nothing, at its start after it died at 0.0400 s']);
});

it('where values stand beside each other, the one of the lost value’s actor is named', () => {
  const states = [
    { ...held(0, 2000, '«w:c0:1» «w:c1:4» (18 bytes)'), actors: ['n1.aa', 'n2.bb'] },
    { ...held(0, 9000, '«w:c0:2» (9 bytes)'), actors: ['n1.aa'] },
  ];
  const [lost] = lostValuesOf({ ...emptyRecording(), concern: emptyConcern(), states }, write);
  expect(lost).toMatchObject({ othersLost: 1, sameActor: { value: '«w:c0:2»', actor: 'n1.aa' } });
});
