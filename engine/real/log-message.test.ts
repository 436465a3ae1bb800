import { expect, test } from 'vitest';

import { messageOf } from './log.ts';

test.each([
  ['node.started', {}, 'node: started'],
  ['store.segment.rotated', { segment: 7 }, 'store: segment rotated (segment 7)'],
  [
    'xa.decision.refused',
    { xid: 'n1-1', detail: 'the disk is full' },
    'xa: decision refused (the disk is full)',
  ],
])('%s reads as a sentence', (name, fields, text) => {
  expect(messageOf(name, fields)).toBe(text);
});

test('a long message is cut', () => {
  expect(messageOf('a.b', { detail: 'x'.repeat(1000) })).toHaveLength(300);
});
