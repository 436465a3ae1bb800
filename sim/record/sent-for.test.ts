import { expect, it } from 'vitest';

import { emptyRecording } from './recording.fixture.ts';
import type { Message, RecordedOperation } from './recording.ts';
import { messagesFor } from './sent-for.ts';

const operation = (id: string, invokedUs: number, completedUs: number): RecordedOperation => ({
  ...{
    id,
    lane: 3,
    node: 0,
    invokedUs,
    completedUs,
    outcome: 'ok',
    about: [0],
    text: `${id} c0 get newest/k3`,
  },
});
const message = (from: number, to: number, sentUs: number): Message => ({
  ...{ from, to, sentUs, arrivedUs: sentUs + 10, kind: 0, bytes: 1, about: [0] },
});

it('a message belongs to the operation that the node began last, and its answer with it', () => {
  const [first, second] = [operation('#1', 1000, 9000), operation('#2', 2000, 4000)];
  const messages = [
    ...[message(0, 1, 1100), message(1, 0, 1200)],
    ...[message(0, 2, 2100), message(2, 0, 2200)],
    message(0, 2, 5000),
  ];
  const run = { ...emptyRecording(), operations: [first, second], messages };
  const sentFor = (one: RecordedOperation): readonly number[] =>
    messagesFor(run, one, one.completedUs).map(({ sentUs }) => sentUs);
  expect(sentFor(first)).toEqual([1100, 1200, 5000]);
  expect(sentFor(second)).toEqual([2100, 2200]);
});
