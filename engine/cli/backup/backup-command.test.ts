/** Laws of what `lockstep backup` says. */
import { expect, test } from 'vitest';

import { withHint } from './backup-command.ts';

test('a node that does not answer is named with what to do about it', () => {
  const error = new Error('http://127.0.0.1:1/ cannot be asked: connect ECONNREFUSED 127.0.0.1:1');
  expect(String(withHint(error))).toContain('ECONNREFUSED 127.0.0.1:1; if the node is down');
  const other = new Error('no space');
  expect(withHint(other)).toBe(other);
});
