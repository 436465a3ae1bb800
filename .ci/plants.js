/**
 * `npm run plants [ID...]`: is every planted bug still noticed, by one of the invariants that it names, within its seeds?
 * The engine changes: what once was a bug may come to have no effect, or be hidden by another precaution. Takes half an
 * hour, so it is not a part of `npm test`. Exit code 0 when all were noticed, 1 otherwise, 2 for an unknown ID.
 */
import { spawnSync } from 'node:child_process';

import { mutants } from '../dist/sim/mutants/catalogue.js';
import { transactionBugs } from '../dist/sim/mutants/transaction-mutants.js';

/** What the simulator says, as its one line of JSON. */
function simulate(args) {
  const { stdout, stderr, error } = spawnSync(process.execPath, ['dist/sim/main.js', ...args, '--json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (error !== undefined || !stdout.startsWith('{')) throw error ?? new Error(stderr);
  return JSON.parse(stdout);
}

/** Which invariants a story of it breaks, each with the first seed. */
function broken(id, ...more) {
  const [{ broken: seedsOf = {} }] = simulate(['run', '--plant', id, ...more]).scenarios;
  return new Map(Object.entries(seedsOf).map(([invariant, seeds]) => [invariant, Math.min(...seeds)]));
}

function judgeStory({ id, oracles, seedsMax }) {
  const named = (found) => oracles.filter((oracle) => found.has(oracle));
  const told = (found) => [...found].map(([invariant, seed]) => `${invariant} in seed ${seed}`).join(', ');
  const seeds = ['--seeds', String(seedsMax)];
  let found = broken(id, ...seeds, '--until-failure');
  // Another invariant may have been first.
  if (found.size > 0 && named(found).length === 0) found = broken(id, ...seeds);
  const noticed = oracles.length === 0 ? found.size === 0 : named(found).length > 0;
  return { noticed, words: found.size === 0 ? 'no invariant broken' : told(found) };
}

function judgePoints({ id, exposedBy, oracles }) {
  const { failures } = simulate(['enumerate', 'xa', '--plant', id, '--only', exposedBy]);
  const found = new Set(failures.flatMap((failure) => failure.match(/\bINV[0-9]+(?=: )/g) ?? []));
  if (failures.some((failure) => failure.includes('the keys hold'))) found.add('values');
  const noticed = oracles.some((oracle) => found.has(oracle));
  return {
    noticed,
    words: found.size === 0 ? 'no invariant broken' : `${[...found].join(', ')} at ${exposedBy}`,
  };
}

const bugs = [
  ...mutants.map((bug) => ({ ...bug, judge: () => judgeStory(bug) })),
  ...transactionBugs.map((bug) => ({ ...bug, judge: () => judgePoints(bug) })),
];
const ids = process.argv.slice(2);
const unknown = ids.filter((id) => !bugs.some((bug) => bug.id === id));
if (unknown.length > 0) {
  console.error(
    `no planted bug has the ID ${unknown.join(', ')}; there are ${bugs.map(({ id }) => id).join(' ')}`,
  );
  process.exit(2);
}
let missed = 0;
for (const bug of bugs) {
  if (ids.length > 0 && !ids.includes(bug.id)) continue;
  const { noticed, words } = bug.judge();
  if (!noticed) missed += 1;
  const names = bug.oracles.length === 0 ? 'nothing' : bug.oracles.join(' or ');
  console.log(`${noticed ? 'noticed' : 'MISSED '} ${bug.id} (${bug.title}): ${words}; expected ${names}`);
}
console.log(missed === 0 ? 'every planted bug is noticed' : `${missed} missed`);
process.exitCode = missed === 0 ? 0 : 1;
