import { setImmediate as turnEnd } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AnswerTurn } from './answer-turn.ts';

test('an answer given in the turn of its request leaves at its end, in order; a later one leaves at once', async () => {
  const sent: string[] = [];
  const turns = new AnswerTurn<string, string>((whom, answer) => sent.push(`${whom} ${answer}`));
  const first = turns.now();
  turns.give(first, 'a', '1');
  turns.give(turns.now(), 'b', '2');
  await Promise.resolve();
  turns.give(first, 'a', '3');
  expect(sent).toEqual([]);
  await turnEnd();
  expect(sent).toEqual(['a 1', 'b 2', 'a 3']);
  turns.give(first, 'c', 'late');
  expect(sent).toEqual(['a 1', 'b 2', 'a 3', 'c late']);
  turns.give(turns.now(), 'd', '4');
  expect(sent).toHaveLength(4);
  await turnEnd();
  expect(sent.at(-1)).toBe('d 4');
});
