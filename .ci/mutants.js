/**
 * `npm run mutants [NAME|CODE...]`: checks that every mutant is still detected, by one of the invariants that it names
 * and within its number of seeds. The engine changes, so a mutant may lose its effect or be masked by another
 * safeguard. The check takes half an hour, so it is not a part of `npm test`. Exit code 0 if all mutants are detected,
 * 1 if not, 2 for an unknown name.
 */
import { spawnSync } from 'node:child_process';

import { invariantNames } from '../dist/sim/check/invariants.js';
import { findNamed, nearestNames } from '../dist/sim/check/named.js';
import { mutants } from '../dist/sim/mutants/catalogue.js';
import { transactionMutants } from '../dist/sim/mutants/transaction-mutants.js';

/** The simulator's result, from its one line of JSON. */
function simulate(args) {
  const { stdout, stderr, error } = spawnSync(process.execPath, ['dist/sim/main.js', ...args, '--json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (error !== undefined || !stdout.startsWith('{')) throw error ?? new Error(stderr);
  return JSON.parse(stdout);
}

/** The invariants that the mutant's scenario breaks, each with the lowest seed. */
function broken(name, ...more) {
  const [{ broken: seedsOf = {} }] = simulate(['run', '--mutant', name, ...more]).scenarios;
  return new Map(Object.entries(seedsOf).map(([invariant, seeds]) => [invariant, Math.min(...seeds)]));
}

function judgeStory({ name, oracles, seedsMax }) {
  const named = (found) => oracles.filter((oracle) => found.has(oracle));
  const told = (found) => [...found].map(([invariant, seed]) => `${invariant} in seed ${seed}`).join(', ');
  const seeds = ['--seeds', String(seedsMax)];
  let found = broken(name, ...seeds, '--until-failure');
  // The first failure may be of an invariant that the mutant does not name.
  if (found.size > 0 && named(found).length === 0) found = broken(name, ...seeds);
  const noticed = oracles.length === 0 ? found.size === 0 : named(found).length > 0;
  return { noticed, words: found.size === 0 ? 'no invariant broken' : told(found) };
}

function judgePoints({ name, exposedBy, oracles }) {
  const { failures } = simulate(['enumerate', 'xa', '--mutant', name, '--only', exposedBy]);
  const named = new RegExp(`(?<![\\w-])(${invariantNames.join('|')})(?=: )`, 'g');
  const found = new Set(failures.flatMap((failure) => failure.match(named) ?? []));
  if (failures.some((failure) => failure.includes('the keys hold'))) found.add('values');
  const noticed = oracles.some((oracle) => found.has(oracle));
  return {
    noticed,
    words: found.size === 0 ? 'no invariant broken' : `${[...found].join(', ')} at ${exposedBy}`,
  };
}

const all = [
  ...mutants.map((mutant) => ({ ...mutant, judge: () => judgeStory(mutant) })),
  ...transactionMutants.map((mutant) => ({ ...mutant, judge: () => judgePoints(mutant) })),
];
const given = process.argv.slice(2);
const unknown = given.filter((word) => findNamed(all, word) === undefined);
for (const word of unknown)
  console.error(`there is no mutant "${word}"; the nearest are ${nearestNames(all, word)}`);
if (unknown.length > 0) process.exit(2);
const chosen =
  given.length === 0 ? all : all.filter((mutant) => given.some((word) => findNamed(all, word) === mutant));
let missed = 0;
for (const mutant of chosen) {
  const { noticed, words } = mutant.judge();
  if (!noticed) missed += 1;
  const names = mutant.oracles.length === 0 ? 'nothing' : mutant.oracles.join(' or ');
  console.log(
    `${noticed ? 'noticed' : 'MISSED '} ${mutant.name} (${mutant.code}, ${mutant.title}): ${words}; expected ${names}`,
  );
}
console.log(missed === 0 ? 'every mutant is noticed' : `${missed} missed`);
process.exitCode = missed === 0 ? 0 : 1;
