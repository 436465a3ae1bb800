/**
 * Runs every scenario over a few seeds, each twice, and every kept plan, an eighth of them twice. More seeds: `npx
 * lockstep-sim run --seeds 1000`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import type { Plan } from '../sim/plan/plan.ts';
import { presentNameOf } from '../sim/plan/former-names.ts';
import { parsePlan } from '../sim/plan/plan-validation.ts';
import type { Scenario } from '../sim/plan/scenario.ts';
import { Coverage } from '../sim/coverage/coverage.ts';
import { judgeRun, planOfSeed } from '../sim/runner/task.ts';
import type { Twice } from '../sim/runner/twice.ts';
import { scenarios } from './catalogue.ts';

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

/** What the seeds below reach; kept plans do not count. */
const coverage = new Coverage();
const seedsOf = ({ name, load }: Scenario): number =>
  load.transactions !== undefined || longScenarios.includes(name)
    ? seedsPerTransactionStory
    : seedsPerScenario;

/** A cell that fewer runs reach may go with any change of the engine, since a change moves what later draws meet. */
const runsMin = 3;

/** Fails with what a person needs: the invariant, the first bad event, and how to replay it. */
async function expectToPass(plan: Plan, replay: string, twice: Twice): Promise<readonly string[]> {
  const { result, reached } = await judgeRun(plan, () => 0, [], twice);
  const broken = result.reports.filter((report) => !report.ok);
  const account = broken.map(({ invariant, reasons }) => `${invariant}: ${reasons.join('\n  ')}`).join('\n');
  expect(result.verdict, `${account}\n${result.because}\nreplay: lockstep-sim replay ${replay}`).toBe(
    'passed',
  );
  return reached;
}

describe.each(scenarios)('$name: $description', (scenario) => {
  const { name } = scenario;
  it.each(Array.from({ length: seedsOf(scenario) }, (_, index) => index + 1))('seed %i', async (seed) => {
    coverage.add(await expectToPass(planOfSeed(name, seed), `${name} --seed ${seed}`, 'all'));
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

describe('kept plans', () => {
  const directory = new URL('regressions/', import.meta.url);
  const files = readdirSync(directory).filter((file) => file.endsWith('.json'));

  it.for(files)('%s', async (file) => {
    const plan = parsePlan(readFileSync(new URL(file, directory), 'utf8'));
    await expectToPass(plan, `scenarios/regressions/${file}`, 'eighth');
  });

  it('are plans of scenarios that exist', () => {
    const names = new Set(scenarios.map((scenario) => scenario.name));
    for (const file of files) {
      const { scenario } = parsePlan(readFileSync(new URL(file, directory), 'utf8'));
      // A scenario with additional faults has a name that says so: `calm-x-power`.
      expect(names).toContain(presentNameOf(scenario.replace(/-x-[a-z-]+$/, '')));
    }
  });
});

describe('the README', () => {
  it('lists every scenario once', () => {
    const text = readFileSync(new URL('README.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| \[`([a-z-]+)`\]\(([a-z-]+)\.ts\)/gm)];
    expect(rows.map(([, name]) => name)).toEqual(scenarios.map(({ name }) => name));
    expect(rows.map(([, , file]) => file)).toEqual(rows.map(([, name]) => name));
  });
});
