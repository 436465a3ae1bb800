/** Every line of the threat model names a test that exists. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('engine/docs/threat-model.md', 'utf8');
const rows = page.split('\n').filter((line) => /^\| /.test(line) && !/^\| (threat|-)/.test(line));

test('the threat model has lines, and each has three cells', () => {
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) expect([row, row.split(' | ').length]).toEqual([row, 3]);
});

test.each(rows)('%s', (row) => {
  const [, file = '', title = ''] = /`([^`]+\.test\.ts)`: (.+?) *\|$/.exec(row) ?? [];
  // A title may be put together in the source: its beginning must be there.
  expect(readFileSync(file, 'utf8')).toContain(title);
});
