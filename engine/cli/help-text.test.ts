import { expect, test } from 'vitest';
import { foldedHelp } from './help-text.ts';

test('a help text fits into 80 columns, and examples stay on lines of their own', () => {
  const long =
    'A listing reads the whole cluster: it is for people and jobs, not for each request of an application.';
  const example = `  lockstep export --node 127.0.0.1:8098 --bucket accounts`;
  const why = 'one bucket, all siblings and metadata';
  const folded = foldedHelp(
    `\n${long}\nExit code: 0.\n\nExamples:\n${example}  ${why}\n  lockstep ls  buckets`,
  );
  expect(folded).toBe(
    [
      '',
      'A listing reads the whole cluster: it is for people and jobs, not for each',
      'request of an application.',
      'Exit code: 0.',
      '',
      'Examples:',
      example,
      `      ${why}`,
      '  lockstep ls  buckets',
    ].join('\n'),
  );
  for (const line of folded.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});
