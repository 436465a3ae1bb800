import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../engine/base/errors.ts';
import { findScenario } from '../../scenarios/catalogue.ts';
import { invariantNames } from '../check/invariants.ts';
import { mutantNamed, mutateInto } from '../cli/mutate-build.ts';
import { mutants } from './catalogue.ts';
import { stepMutants } from './step-mutants.ts';
import { transactionMutants } from './transaction-mutants.ts';

/** `npm test` builds before it tests. */
const build = fileURLToPath(new URL('../../dist', import.meta.url));

describe('mutants', () => {
  it.each([...mutants, ...stepMutants])(
    '$name finds its place in the built engine exactly once',
    async (mutant) => {
      const text = await readFile(join(build, mutant.file), 'utf8');
      const edited = mutateInto(text, mutant);
      expect(edited).not.toBe(text);
      expect(edited).toContain(mutant.replace);
    },
  );

  it('have a name and a code each, which no other one has', () => {
    const words = [...mutants, ...transactionMutants, ...stepMutants].flatMap(({ name, code }) => [
      name,
      code,
    ]);
    expect(new Set(words).size).toBe(words.length);
  });

  it.each(mutants)('$name names a scenario that checks its oracles', ({ scenario, oracles }) => {
    // Each seed of `swarm` judges all invariants but those that the contract of faults excuses.
    const checked =
      scenario === 'swarm' ? invariantNames : Object.keys(findScenario(scenario)?.invariants ?? {});
    expect(checked).toEqual(expect.arrayContaining([...oracles]));
  });

  it('refuse an edit whose place is missing, or occurs twice', () => {
    const mutant = mutantNamed('ack-before-sync');
    expect(() => mutateInto('nothing of the kind', mutant)).toThrow(LockstepError);
    expect(() => mutateInto(mutant.find + mutant.find, mutant)).toThrow('found 2 times');
    expect(() => mutantNamed('M999')).toThrow('there is no mutant "M999"');
  });

  it('the built engine holds no trace of them', async () => {
    const names = await readdir(join(build, 'engine'), { recursive: true });
    const files = names.filter((name) => name.endsWith('.js'));
    expect(files.length).toBeGreaterThan(20);
    for (const file of files) {
      const text = await readFile(join(build, 'engine', file), 'utf8');
      expect(text).not.toContain('plant(');
      // The test can only search for text that an edit inserts.
      for (const { replace } of mutants) if (replace !== '') expect(text).not.toContain(replace);
    }
  });
});
