/**
 * Fixes the seed of every fast-check property, so that the tests of one commit have one result on every machine.
 * `LOCKSTEP_PROPERTY_SEED=random npm test` (or a number) takes another seed; a failure prints the seed that replays it.
 */
import process from 'node:process';
import fc from 'fast-check';

const asked = process.env.LOCKSTEP_PROPERTY_SEED ?? '1';
if (asked !== 'random') {
  if (!/^-?\d{1,10}$/.test(asked)) {
    throw new Error(`LOCKSTEP_PROPERTY_SEED is '${asked}'; it is a whole number or 'random'`);
  }
  fc.configureGlobal({ seed: Number(asked) });
}
