/**
 * Runs every scenario over a few seeds: the first of each twice, of the others an eighth, and all with
 * `LOCKSTEP_TWICE=all`. More seeds: `npx lockstep-sim run --seeds 1000`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import type { Scenario } from '../sim/plan/scenario.ts';
import { Coverage } from '../sim/coverage/coverage.ts';
import { planOfSeed } from '../sim/runner/task.ts';
import type { Twice } from '../sim/runner/twice.ts';
import { scenarios } from './catalogue.ts';
import { expectToPass } from './expect-to-pass.fixture.ts';

/** Every scenario is checked for determinism, by its first seed at least. */
const twiceOf = (seed: number): Twice =>
  seed === 1 || process.env['LOCKSTEP_TWICE'] === 'all' ? 'all' : 'eighth';
const seedsPerScenario = 2;
/** For the many scenarios with transactions; sim/tests/transactions also covers every crash point of one. */
const seedsPerTransactionStory = 1;
/** Scenarios whose seeds take several times as long as others; they have one. */
const longScenarios = [
  'large-reads',
  'redis-scripts',
  'redis-pipelines',
  'redis-pipelines-hinted',
  'redis-pipelines-cut-off',
  'redis-pipelines-own-disk',
  'redis-one-replica-silent',
  'replacement-leaves',
];

/** What the seeds below reach. */
const coverage = new Coverage();
const seedsOf = ({ name, load }: Scenario): number =>
  load.transactions !== undefined || longScenarios.includes(name)
    ? seedsPerTransactionStory
    : seedsPerScenario;

/** A cell that fewer runs reach may go with any change of the engine, since a change moves what later draws meet. */
const runsMin = 3;

describe.each(scenarios)('$name: $description', (scenario) => {
  const { name } = scenario;
  it.each(Array.from({ length: seedsOf(scenario) }, (_, index) => index + 1))('seed %i', async (seed) => {
    coverage.add(await expectToPass(planOfSeed(name, seed), `${name} --seed ${seed}`, twiceOf(seed)));
  });
});

/**
 * `coverage.json` lists cells that at least `runsMin` of the seeds above reach; LOCKSTEP_GOLDEN=write writes it. A cell
 * that none of them reaches any more is a part of the engine, or of its faults, that tests have lost.
 */
it('no cell of coverage that these seeds reached is out of reach now', ({ skip }) => {
  const file = new URL('coverage.json', import.meta.url);
  const wanted = scenarios.reduce((sum, scenario) => sum + seedsOf(scenario), 0);
  if (coverage.runs < wanted) skip('not all seeds ran');
  if (process.env['LOCKSTEP_GOLDEN'] === 'write')
    writeFileSync(file, `${JSON.stringify(coverage.reachedBy(runsMin), undefined, 2)}\n`);
  const before = JSON.parse(readFileSync(file, 'utf8')) as readonly string[];
  expect(before.filter((id) => coverage.runsOf(id) === 0)).toEqual([]);
});

describe('the README', () => {
  it('lists every scenario once', () => {
    const text = readFileSync(new URL('README.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| \[`([a-z-]+)`\]\(([a-z-]+)\.ts\)/gm)];
    expect(rows.map(([, name]) => name)).toEqual(scenarios.map(({ name }) => name));
    expect(rows.map(([, , file]) => file)).toEqual(rows.map(([, name]) => name));
  });
});
