import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { mustGetEnumeratedMutant, mutateInto } from '../cli/mutate-build.ts';
import { allCrashPoints, describePoint } from '../explore/crash-points.ts';
import { transactionMutants } from './transaction-mutants.ts';

/** `npm test` builds before it tests. */
const build = fileURLToPath(new URL('../../dist', import.meta.url));

describe('mutants of transactions', () => {
  it.each(transactionMutants)('$name finds its place in the built engine exactly once', async (mutant) => {
    const text = await readFile(join(build, mutant.file), 'utf8');
    expect(mutateInto(text, mutant)).not.toBe(text);
  });

  it.each(transactionMutants)('$name names crash points that exist', ({ exposedBy }) => {
    const exposing = allCrashPoints().filter((point) => describePoint(point).includes(exposedBy));
    expect(exposing).not.toEqual([]);
  });

  it('an unknown one is refused with the nearest ones', () => {
    expect(() => mustGetEnumeratedMutant('M999')).toThrow(
      /there is no mutant "M999"; the nearest are [a-z-]+, [a-z-]+, [a-z-]+; lockstep-sim list/,
    );
  });
});
