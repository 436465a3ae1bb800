import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { mustGetEnumeratedBug, mutateInto } from '../cli/planting.ts';
import { allCrashPoints, describePoint } from '../explore/crash-points.ts';
import { transactionBugs } from './transaction-mutants.ts';

/** `npm test` builds before it tests. */
const build = fileURLToPath(new URL('../../dist', import.meta.url));

describe('mutants of transactions', () => {
  it.each(transactionBugs)('$name finds its place in the built engine exactly once', async (bug) => {
    const text = await readFile(join(build, bug.file), 'utf8');
    expect(mutateInto(text, bug)).not.toBe(text);
  });

  it.each(transactionBugs)('$name names crash points that exist', ({ exposedBy }) => {
    const exposing = allCrashPoints().filter((point) => describePoint(point).includes(exposedBy));
    expect(exposing).not.toEqual([]);
  });

  it('an unknown one is refused with the nearest ones', () => {
    expect(() => mustGetEnumeratedBug('M999')).toThrow(
      /there is no planted bug "M999"; the nearest are [a-z-]+, [a-z-]+, [a-z-]+; lockstep-sim list/,
    );
  });
});
