/** Tests the simulator as other projects' tests use it, with a scenario so small that a run takes no time. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { present } from '../engine/base/assert.ts';
import { loadOwn } from './embedding/own-file.ts';
import type { Invariant, Plan, RunResult, Scenario } from './lockstep-sim.ts';
import {
  checkPlan,
  checkSeeds,
  parsePlan,
  planOfSeed,
  plans,
  runPlan,
  scenarioNamed,
  SimulationFailed,
} from './lockstep-sim.ts';
import { Pool } from './runner/pool/pool.ts';
import type { Task, TaskAnswer } from './runner/task.ts';

const stories = fileURLToPath(new URL('embedding/testdata/tiny-stories.js', import.meta.url));
const dist = fileURLToPath(new URL('../dist/sim/', import.meta.url));
let out = '';
let tiny: Scenario;
let nobodyWrites: Invariant;

beforeAll(async () => {
  out = mkdtempSync(join(tmpdir(), 'lockstep-library-'));
  const own = await loadOwn(stories);
  tiny = present(own.scenarios[0], 'a scenario');
  nobodyWrites = present(own.invariants[0], 'an invariant');
});
afterAll(() => rmSync(out, { recursive: true }));

async function failureOf(check: Promise<unknown>): Promise<SimulationFailed> {
  const error = await check.then(
    () => 'nothing',
    (reason: unknown) => reason,
  );
  if (error instanceof SimulationFailed) return error;
  throw new Error(`a failure was expected, not ${String(error)}`);
}

describe('the simulator as a library', () => {
  it('is exported with its types', () => {
    const entry = createRequire(import.meta.url).resolve('lockstep/sim');
    expect(entry).toBe(join(dist, 'lockstep-sim.js'));
    expect(existsSync(entry.replace(/js$/, 'd.ts'))).toBe(true);
  });

  it('runs seeds to the digests that the command line prints, which judges by their invariants too', async () => {
    const [first, second] = await checkSeeds(tiny, { firstSeed: 7, seeds: 2 });
    expect([first?.seed, second?.seed]).toEqual([7, 8]);
    expect(second?.digest).not.toBe(first?.digest);
    const words = ['replay', tiny.name, '--seed', '7', '--json', '--scenarios', stories];
    const { status, stdout } = spawnSync(process.execPath, [join(dist, 'main.js'), ...words], {
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    const result = JSON.parse(stdout) as RunResult;
    expect(result.digest).toBe(first?.digest);
    expect(result.reports.find(({ ok }) => !ok)?.invariant).toBe('nobody-writes');
  });

  it('is what worker threads run, each of which loads their module for itself', async () => {
    const pool = new Pool(join(dist, '..'), 1, stories);
    const answers: TaskAnswer[] = [];
    const tasks: Task[] = [{ kind: 'seed', scenario: tiny.name, seed: 7 }];
    await pool.performAll(tasks.values(), (_, answer) => answers.push(answer));
    await pool.close();
    const { digest } = await runPlan(planOfSeed(tiny, 7));
    expect(answers).toMatchObject([{ kind: 'ran', result: { verdict: 'failed', digest } }]);
  });

  it('lets runs take turns: asked for at once they are the same as alone', async () => {
    const plan = planOfSeed(tiny, 7);
    const [one, other] = await Promise.all([runPlan(plan), runPlan(plan)]);
    expect(one).toMatchObject({ verdict: 'passed', digest: other.digest });
  });

  it('throws the first screen of a failure: what broke, the first bad event, how to replay it', async () => {
    const failure = await failureOf(
      checkSeeds(tiny, { seeds: 1, invariants: [nobodyWrites], file: 'stories.js' }),
    );
    expect(failure.message).toMatch(
      /^tiny-crashes, seed 1 broke nobody-writes\.\n {2}first bad event, at \d\.\d{3} s: #\d+ is a put of .+\n[^]*\n {2}got as far as: /,
    );
    expect(failure.message.split('\n').at(-1)).toBe(
      'replay: npx lockstep-sim replay tiny-crashes --seed 1 --scenarios stories.js',
    );
    expect(failure.result.verdict).toBe('failed');
    // vitest prints what an error serializes to.
    expect(JSON.stringify(failure).length).toBeLessThan(failure.message.length + 250);
  });

  it('writes the plan of a failure without a seed, and the replay line names it', async () => {
    const plan: Plan = { ...planOfSeed(tiny, 3), faults: [] };
    const failure = await failureOf(checkPlan(plan, { invariants: [nobodyWrites], out }));
    const file = join(out, 'tiny-crashes-3.min.json');
    expect(failure.message.split('\n').slice(-2)).toEqual([
      expect.stringMatching(/^ {2}FILE: your module that exports these scenarios and invariants/),
      `replay: npx lockstep-sim replay ${file} --scenarios FILE`,
    ]);
    expect(parsePlan(readFileSync(file, 'utf8'))).toEqual({
      ...plan,
      judgedBy: { invariants: ['nobody-writes'] },
    });
    // The violation is reported even where the plan cannot be written.
    const unwritten = await failureOf(checkPlan(plan, { invariants: [nobodyWrites], out: join(file, 'x') }));
    expect(unwritten.message).toMatch(
      /broke nobody-writes\.[^]*\n {2}the plan could not be written: ENOTDIR/,
    );
  });
});

describe('plans as an arbitrary', () => {
  it('are those of seeds, and their runs hold as a property', async () => {
    const property = fc.asyncProperty(plans(tiny), async (plan) => {
      expect({ ...plan }).toEqual(planOfSeed(tiny, plan.seed));
      await checkPlan(plan);
    });
    await fc.assert(property, { numRuns: 2 });
  });

  it('shrink to what a failure needs, print as their file, and replay by seed and path', async () => {
    const everyday = plans('crash-and-restart');
    const tried: Plan[] = [];
    const property = fc.asyncProperty(everyday, async (plan) => {
      tried.push(plan);
      return plan.operations.filter(({ kind }) => kind === 'delete').length < 2;
    });
    const { counterexample, seed, counterexamplePath } = await fc.check(property, { seed: 1 });
    const small = present(counterexample?.[0], 'a counterexample');
    expect(small.operations.map(({ kind }) => kind)).toEqual(['delete', 'delete']);
    expect([small.faults, small.malformedInput, small.scrapes]).toEqual([[], [], []]);
    expect(new Set(Object.values(small.floors))).toEqual(new Set([0]));
    const shown = fc.stringify(small);
    expect(shown.split('\n').filter((line) => line.includes('"kind":"delete"'))).toHaveLength(2);
    expect(parsePlan(shown)).toEqual({ ...small });
    tried.length = 0;
    await fc.check(property, { seed, path: counterexamplePath ?? '', endOnFailure: true });
    expect(tried).toEqual([small]);
  });

  it('shrink within their budget', async () => {
    let runs = 0;
    const property = fc.asyncProperty(plans('calm', { shrinkRuns: 9 }), async (plan) => {
      runs += 1;
      return plan.operations.length < 5;
    });
    await fc.check(property, { numRuns: 1 });
    expect(runs).toBe(1 + 9);
  });

  it('are the same whatever fast-check is configured to', () => {
    const before = fc.readConfigureGlobal();
    const plan = planOfSeed('crash-and-restart', 7);
    fc.configureGlobal({ randomType: 'mersenne', baseSize: 'xlarge', unbiased: true });
    const again = planOfSeed('crash-and-restart', 7);
    fc.configureGlobal(before);
    expect(again).toEqual(plan);
  });
});

describe('an invariant of their own', () => {
  it('proves nothing when it compares too little, unless the plan was made small', async () => {
    const silent: Invariant = { name: 'looks-at-nothing', check: () => undefined };
    const plan: Plan = {
      ...planOfSeed(tiny, 1),
      operations: [],
      faults: [],
      floors: { 'no-silent-failures': 1 },
    };
    const result = await runPlan(plan, { invariants: [silent] });
    expect(result).toMatchObject({ verdict: 'failed', reports: [{}, { ok: false, vacuous: true }] });
    const small = { ...plan, floors: { 'no-silent-failures': 0 } };
    expect(await runPlan(small, { invariants: [silent] })).toMatchObject({ verdict: 'passed' });
  });

  it.each<readonly [unknown, string]>([
    [
      { name: 'Durability', check: () => undefined },
      'invariants[0].name: a name like no-update-is-lost is expected',
    ],
    [
      { name: 'durability', check: () => undefined },
      'durability is a built-in invariant; give yours another name',
    ],
    [{ name: 'a', check: 'no' }, 'a.check: a function (evidence, tally) is expected'],
    [{ name: 'a', floor: -1, check: () => undefined }, 'a.floor: a whole number of at least 0 is expected'],
  ])('%j is refused', async (invariant, complaint) => {
    const options = { invariants: [invariant as Invariant] };
    await expect(runPlan(planOfSeed(tiny, 1), options)).rejects.toThrow(complaint);
  });
});

describe('a scenario of their own', () => {
  it.each<readonly [(scenario: Scenario) => unknown, string]>([
    [() => 'calmm', 'there is no scenario "calmm"; the nearest is calm'],
    [() => 7, 'scenario: an object is expected, not the number 7'],
    [
      () => ({ ...scenarioNamed('calm'), stormMs: 500 }),
      'calm.name: there is a scenario of that name already',
    ],
    [(own) => ({ ...own, lod: {} }), 'tiny-crashes: unknown key "lod"; did you mean "load"?'],
    [(own) => ({ ...own, load: { ...own.load, keys: 0 } }), 'tiny-crashes.load.keys: 0 is outside 1..100000'],
    [
      (own) => ({ ...own, load: { ...own.load, thinkUs: [9, 2] } }),
      'a range [least, most] is expected, not [9, 2]',
    ],
    [
      (own) => ({
        ...own,
        cluster: { ...own.cluster, spares: [{ name: 'n2', datacenter: 'dc1', rack: 'r1' }] },
      }),
      'tiny-crashes.cluster.spares[0].name: two nodes are called "n2"',
    ],
    [
      (own) => ({ ...own, invariants: { INV44: 1 } }),
      'tiny-crashes.invariants.INV44: there is no invariant "INV44"; the nearest are ',
    ],
    [
      (own) => ({ ...own, faults: [{ kind: 'network-delay', count: [1, 1], params: { meanUs: [0, 5] } }] }),
      'tiny-crashes.faults[0].params.meanUs[0]: 0 is outside 1000..100000',
    ],
    [
      (own) => ({ ...own, faults: [{ kind: 'process-crash', count: [1, 1], params: { mean: [0, 5] } }] }),
      'faults[0].params.mean: process-crash has no such number; it has none',
    ],
    [
      (own) => ({
        ...own,
        faults: [{ kind: 'process-crash', count: [1, 1], targets: ['n9'], always: true }],
      }),
      'no plan can be drawn from it: plan.faults[0].targets[0]: one of n1, n2, n3 is expected, not "n9"',
    ],
  ])('is refused with the place and what is allowed (%#)', (edit, complaint) => {
    expect(() => plans(edit(tiny) as Scenario)).toThrow(complaint);
  });
});
