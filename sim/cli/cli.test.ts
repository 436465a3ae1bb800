/** Tests the built command line, as a user calls it. `npm test` builds before it tests. */
import type { SpawnSyncReturns } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { renderUnrecorded } from '../../reports/terminal.ts';
import { timeOfLine } from '../check/program/determinism.ts';
import type { Plan } from '../plan/plan.ts';
import { formatPlan } from '../plan/plan.ts';
import { parsePlan } from '../plan/plan-validation.ts';
import { parseCampaign } from '../runner/campaign.ts';
import { runPlan } from '../runner/run.ts';
import { planOfSeed } from '../runner/task.ts';
import { mutateBuild } from './mutate-build.ts';

const build = fileURLToPath(new URL('../../dist/', import.meta.url));
const program = join(build, 'sim/main.js');
/** A module as a user of the simulator writes it. */
const stories = fileURLToPath(new URL('../embedding/testdata/tiny-stories.js', import.meta.url));
let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-sim-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A user's module without the invariant of `stories`. */
function others(): string {
  const file = join(directory, 'others.mjs');
  writeFileSync(file, "export const invariants = [{ name: 'all-is-well', check() {} }];");
  return file;
}

/** In a job of GitHub Actions `run` prints annotations, and adds to the job's summary. */
const outsideGithub = { ...process.env, GITHUB_ACTIONS: '', GITHUB_STEP_SUMMARY: '' };

interface Called {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

function call(...words: readonly string[]): Called {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    encoding: 'utf8',
    cwd: directory,
    env: outsideGithub,
  });
  return { status, out: stdout.trimEnd(), err: stderr };
}

/**
 * Runs a campaign on one thread with a small heap. `module`: a user's module without its imports, which defines `check`,
 * the check of its only invariant, and exports `scenarios`.
 */
function withLittleMemory(module: string, ...words: readonly string[]): SpawnSyncReturns<string> {
  const file = join(directory, 'little-memory.mjs');
  const imports = `import { scenarios as tiny } from ${JSON.stringify(stories)};`;
  const exports = "export const invariants = [{ name: 'all-is-well', check }];";
  writeFileSync(file, [imports, module, exports].join('\n'));
  const all = [
    '--max-old-space-size=120',
    '--max-semi-space-size=2',
    program,
    'run',
    ...words,
    '--jobs',
    '1',
    '--scenarios',
    file,
  ];
  return spawnSync(process.execPath, all, { encoding: 'utf8', cwd: directory, env: outsideGithub });
}

describe('lockstep-sim', () => {
  it('prints the same digest in two processes, and in this one, which runs the source', async () => {
    const first = call('digest', 'crash-and-restart', '--seed', '7');
    expect(first).toMatchObject({ status: 0, out: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
    expect(call('digest', 'crash-and-restart', '--seed', '7').out).toBe(first.out);
    expect((await runPlan(planOfSeed('crash-and-restart', 7))).digest).toBe(first.out);
  });

  it('sums a run up in one line of JSON', () => {
    const { status, out } = call('run', 'calm', '--seeds', '2', '--jobs', '1', '--json');
    expect(status).toBe(0);
    expect(out).not.toContain('\n');
    const summary = JSON.parse(out) as { passed: boolean; scenarios: Record<string, unknown>[] };
    expect(summary.passed).toBe(true);
    expect(summary.scenarios).toHaveLength(1);
    const [one] = summary.scenarios;
    expect(one).toMatchObject({ name: 'calm', seeds: 2, passed: 2, failed: 0, unknown: 0 });
    expect(Object.keys(one ?? {})).toEqual(
      expect.arrayContaining(['events', 'operations', 'virtual_ms', 'wall_ms', 'checks']),
    );
    expect(one?.['checks']).toMatchObject({ durability: { checked: expect.any(Number) as number } });
  });

  it('replays a plan file to the same digest, and shows its trace up to an instant', () => {
    const file = join(directory, 'plan.json');
    writeFileSync(file, formatPlan(planOfSeed('calm', 3)));
    const digest = call('digest', 'calm', '--seed', '3').out;
    const { status, out, err } = call(
      'replay',
      'plan.json',
      '--level',
      'all',
      '--until',
      '1s',
      '--history',
      'h.edn',
    );
    expect(status).toBe(0);
    expect(err).toContain('This run of calm has no transactions: the history in h.edn is empty.');
    expect(out).toContain(`digest: ${digest}`);
    const trace = out.split('\n').filter((line) => /^\d+\.\d{6} /.test(line));
    expect(trace.length).toBeGreaterThan(100);
    // Beside every event of the world, the operations of clients.
    expect(trace.some((line) => / #\d+ c\d .* ok in /.test(line))).toBe(true);
    expect(Math.max(...trace.map(timeOfLine))).toBeLessThanOrEqual(1_000_000);
  });

  it('ends a mistake of the caller with its complaint and exit code 2', () => {
    const { status, err } = call('run', 'no-such-scenario');
    expect(err).toContain('there is no scenario "no-such-scenario"');
    expect(status).toBe(2);
  });

  it('makes one run however short the time, and names the scenarios that it did not reach', () => {
    const words = ['run', 'calm', 'partition-minority', '--for', '0s', '--jobs', '1'];
    const { status, out } = call(...words, '--json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      passed: true,
      for_ms: 0,
      not_reached: ['partition-minority'],
      scenarios: [expect.objectContaining({ name: 'calm', seeds: 1, passed: 1 }) as object],
      coverage: expect.objectContaining({ runs: 1 }) as object,
    });
    expect(
      call(...words)
        .out.split('\n')
        .slice(0, 3),
    ).toEqual([
      'The run passed.',
      'Reached in 0 s: 1 of 2 scenarios, 1 seed of each.',
      'Not reached, so nothing is known of: partition-minority',
    ]);
  });

  it('goes around its scenarios again while there is time', () => {
    const words = ['run', 'tiny-crashes', 'calm', '--seeds', '2', '--jobs', '1', '--for', '1h', '--json'];
    const { out } = call(...words, '--scenarios', stories);
    const summary = JSON.parse(out) as { not_reached: unknown; scenarios: { seeds: number }[] };
    expect(summary.not_reached).toEqual([]);
    expect(summary.scenarios.map(({ seeds }) => seeds)).toEqual([2, 2]);
  });

  it('makes a failure small only within its time, and says how to do it later', () => {
    const words = ['run', 'tiny-crashes', '--jobs', '1', '--scenarios', stories, '--out', 'timed'];
    const none = call(...words, '--for', '0s');
    expect(none.status).toBe(1);
    expect(none.out).toContain(
      `shrinks it further: npx lockstep-sim shrink timed/tiny-crashes-1.json --scenarios ${stories}`,
    );
    expect(none.out.split('\n').at(-1)).toBe(
      `replay: npx lockstep-sim replay timed/tiny-crashes-1.json --scenarios ${stories}`,
    );
    const enough = call(...words, '--for', '1h', '--until-failure');
    expect(enough.out).toMatch(/the smallest plan found in [^]*none of\s+it\s+can\s+be\s+left\s+out/);
  });

  it('shrinks a plan later, and keeps it with a test of its own', () => {
    const words = ['--scenarios', stories, '--jobs', '1'];
    const run = call('run', 'tiny-crashes', '--seed', '1', '--shrink-for', '0s', '--out', 'later', ...words);
    expect(run.out).not.toContain('the smallest plan');
    const shrunk = call('shrink', 'later/tiny-crashes-1.json', '--keep', ...words);
    expect(shrunk.out).toContain(
      `replay: npx lockstep-sim replay later/tiny-crashes-1.min.json --scenarios ${stories}`,
    );
    const kept = join(directory, 'scenarios/regressions/tiny-crashes-1-nobody-writes');
    const plan = parsePlan(readFileSync(`${kept}.json`, 'utf8'));
    expect([plan.faults, plan.recorded?.broke]).toEqual([[], 'nobody-writes']);
    const test = readFileSync(`${kept}.test.ts`, 'utf8');
    expect(test.split('\n').length).toBeLessThanOrEqual(40);
    expect(test).toContain("new URL('tiny-crashes-1-nobody-writes.json', import.meta.url)");
    expect(test).toMatch(/import \{ invariants \} from '\.\.\/.*tiny-stories\.js'/);
    // Its replay is the recorded run; that of a plan with another moment is not, and says where.
    const replay = ['replay', `${kept}.json`, '--scenarios', stories];
    expect(call(...replay).err).toBe('');
    const [first, ...more] = plan.operations;
    const moved = {
      ...plan,
      operations: first === undefined ? [] : [{ ...first, thinkUs: first.thinkUs + 999 }, ...more],
    };
    writeFileSync(`${kept}.json`, formatPlan(moved));
    expect(call(...replay).err).toMatch(/this run is not the recorded one [^]* differs\s/);
  });

  it('ends at Ctrl-C with what it has found', async () => {
    const words = ['run', 'tiny-crashes', '--seeds', '1000000', '--jobs', '1', '--scenarios', stories];
    const run = spawn(process.execPath, [program, ...words, '--out', 'ended'], { cwd: directory });
    let out = '';
    run.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
    await once(run.stderr, 'data');
    run.kill('SIGINT');
    expect(await once(run, 'close')).toEqual([1, null]);
    expect(out).toMatch(
      /broke nobody-writes[^]*\nreplay: npx lockstep-sim replay ended\/tiny-crashes-\d+\.json/,
    );
  });

  it('begins no run after the first failure, and shrinks nothing, where that is wanted', () => {
    const words = ['run', 'tiny-crashes', 'calm', '--seeds', '3', '--jobs', '1', '--scenarios', stories];
    const { status, out } = call(...words, '--fail-fast', '--no-shrink', '--out', 'fast', '--json');
    expect(status).toBe(1);
    const {
      scenarios: [one, ...others],
    } = JSON.parse(out) as { scenarios: Record<string, unknown>[] };
    expect(others).toEqual([]);
    expect(one).toMatchObject({ name: 'tiny-crashes', seeds: 1, failed: 1 });
    expect(one?.['failure']).not.toHaveProperty('shrunk');
    const files = readdirSync(join(directory, 'fast'));
    expect(files).toContain('tiny-crashes-1.json');
    expect(files.filter((file) => file.includes('.min.'))).toEqual([]);
  });

  it("refuses the replay of a plan that a user's invariant judged, without that invariant", () => {
    const words = ['run', 'tiny-crashes', '--seed', '1', '--shrink-for', '2s', '--scenarios', stories];
    const run = call(...words, '--out', 'judged');
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining('broke nobody-writes') as string });
    for (const file of ['judged/tiny-crashes-1.json', 'judged/tiny-crashes-1.min.json']) {
      const plan = parsePlan(readFileSync(join(directory, file), 'utf8'));
      expect(plan.judgedBy).toEqual({ file: stories, invariants: ['nobody-writes'] });
      const asks = file.endsWith('.min.json') ? [[]] : [[], ['--trace'], ['--scenarios', others()]];
      for (const asked of asks) {
        expect(call('replay', file, ...asked)).toMatchObject({
          status: 2,
          out: '',
          err: expect.stringContaining(
            `this plan of tiny-crashes was judged by nobody-writes, an invariant of ${stories}: add --scenarios ${stories}`,
          ) as string,
        });
      }
      expect(call('replay', file, '--scenarios', stories).status).toBe(1);
      // Its events are the same, whichever invariants judge it.
      expect(call('digest', file).status).toBe(0);
    }
  });

  it('replays plans that name no user invariants, as all older ones, without them', () => {
    const { judgedBy: _, ...older } = planOfSeed('calm', 3);
    writeFileSync(
      join(directory, 'older.json'),
      formatPlan({ ...older, floors: { 'no-silent-failures': 0 } }),
    );
    const { status, err } = call('replay', 'older.json');
    expect(status).toBe(0);
    // A passing run of a plan that records none may be another one than that it was kept for.
    expect(err).toBe(`${renderUnrecorded()}\n`);
  });

  it('refuses a damaged plan file with the place and the cause', () => {
    writeFileSync(join(directory, 'damaged.json'), '{"format": 1, "sed": 7}');
    expect(call('replay', 'damaged.json')).toMatchObject({
      status: 2,
      err: expect.stringContaining(
        'damaged.json: plan: unknown key "sed"; did you mean "seed"? (PlanInvalid)',
      ) as string,
    });
  });

  it('runs the last seed there is, and no other one', () => {
    const { status, out } = call('run', 'calm', '--first-seed', '9007199254740991', '--for', '1m', '--json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ scenarios: [{ seeds: 1, passed: 1 }] });
  });

  it('shows the trace up to an instant without being asked for the trace besides', () => {
    const { status, out } = call('replay', 'calm', '--seed', '3', '--until', '1s');
    expect(status).toBe(0);
    const trace = out.split('\n').filter((line) => /^\d+\.\d{6} /.test(line));
    expect(trace.length).toBeGreaterThan(10);
    expect(Math.max(...trace.map(timeOfLine))).toBeLessThanOrEqual(1_000_000);
  });

  it('replays a plan of an unknown scenario: the name is a label', () => {
    const plan = { ...planOfSeed('calm', 3), scenario: 'clam', floors: { 'no-silent-failures': 1 } };
    writeFileSync(join(directory, 'strange.json'), formatPlan(plan));
    const { status, out } = call('replay', 'strange.json', '--json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ scenario: 'clam', verdict: 'passed' });
  });

  it('does not pass a plan without a judged invariant', () => {
    writeFileSync(join(directory, 'idle.json'), formatPlan({ ...planOfSeed('calm', 3), floors: {} }));
    const { status, out } = call('replay', 'idle.json', '--json');
    expect(status).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      verdict: 'unknown',
      because: expect.stringContaining('no invariant was judged') as string,
    });
  });

  it('names the faults of a plan that were not injected, and why', () => {
    const whole = planOfSeed('calm', 3);
    const crash = { kind: 'process-crash', targets: ['n1'], forUs: 50_000, params: {} } as const;
    const faults: Plan['faults'] = [
      { id: 'f0', ...crash, when: { atUs: 10_000 } },
      { id: 'f1', ...crash, when: { atUs: 20_000 } },
      { id: 'f2', ...crash, when: { atUs: 9_000_000 } },
    ];
    const plan = { ...whole, stormUs: 300_000, operations: [], faults, floors: { 'no-silent-failures': 0 } };
    writeFileSync(join(directory, 'late.json'), formatPlan(plan));
    const { status, out, err } = call('replay', 'late.json', '--json');
    expect(status).toBe(0);
    expect(err).toBe(
      `2 faults of the plan did not strike: f1 process-crash n1 (there was nothing to strike), f2 process-crash n1 (its moment did not come)\n${renderUnrecorded()}\n`,
    );
    expect(JSON.parse(out)).toMatchObject({ missed: [{ id: 'f1' }, { id: 'f2' }] });
  });

  it('does not pass off a fault of its own as a broken invariant', async () => {
    const find = 'async storm() {';
    const edit = {
      name: 'fault',
      code: 'M0',
      title: 'throws',
      file: 'sim/runner/run.js',
      find,
      replace: `${find} null.x;`,
    };
    const broken = join(await mutateBuild(edit, build), 'sim/main.js');
    const words = ['run', 'calm', '--seed', '3', '--jobs', '1'];
    const { status, stderr } = spawnSync(process.execPath, [broken, ...words], { encoding: 'utf8' });
    expect(status).toBe(70);
    expect(stderr).toContain('lockstep-sim: the simulator itself failed at calm, seed 3: Cannot read');
    // Where it happened, though that was in a worker.
    expect(stderr).toMatch(/at Run\.storm .*run\.js:/);
  });

  it('goes on after a run that exhausts the memory of its thread, which is a failed one, and keeps its plan', () => {
    // What an earlier run of the thread has left there fails no run.
    const { status, stdout, stderr } = withLittleMemory(
      `const of = (name, kinds) => ({ ...tiny[0], name, load: { ...tiny[0].load, kinds } });
      export const scenarios = [of('hungry', { get: 1 }), ...tiny, of('thrifty', { put: 1 })];
      let isUsed = false;
      const check = ({ operations }, tally) => {
        const kinds = operations.filter(({ final }) => !final).map(({ kind }) => kind);
        const isHungry = !kinds.includes('put') || (isUsed && !kinds.includes('get'));
        for (const all = []; isHungry; ) all.push(new Array(50_000).fill(all.length + 0.5));
        isUsed = true;
        tally.compare(true, 0, () => '');
      };`,
      ...['hungry', 'tiny-crashes', 'thrifty', '--seeds', '1', '--out', 'hungry', '--json'],
    );
    expect([status, stderr]).toEqual([1, expect.not.stringContaining('fault of the simulator')]);
    const { scenarios } = JSON.parse(stdout) as { scenarios: readonly Record<string, unknown>[] };
    const sums = scenarios.map(({ name, passed, failed }) => [name, passed, failed]);
    expect(sums).toEqual([
      ['hungry', 0, 1],
      ['tiny-crashes', 1, 0],
      ['thrifty', 1, 0],
    ]);
    expect(scenarios[0]).toMatchObject({
      failed_seeds: [1],
      failure: {
        seed: 1,
        invariant: 'resource-bounds',
        reason: expect.stringContaining('no memory left'),
        replay: expect.stringContaining('replay hungry/hungry-1.json --scenarios'),
      },
    });
    expect(readdirSync(join(directory, 'hungry'))).toContain('hungry-1.json');
  });

  it('detects the mutant ack-before-sync within 50 seeds, and its last line replays the smallest plan', () => {
    const out = join(directory, 'out');
    const run = call(
      'run',
      '--mutant',
      'ack-before-sync',
      '--seeds',
      '50',
      '--until-failure',
      // Shrinking ends by itself in some seconds; on a busy machine, too, the plan must be the smallest one.
      '--shrink-for',
      '2m',
      '--out',
      out,
    );
    expect(run.status).toBe(1);
    expect(run.out).toMatch(/crash-and-restart, seed \d+ broke (durability|durable-before-ack) \(INV[45]\):/);
    const last = run.out.split('\n').at(-1) ?? '';
    const words = /^replay: npx lockstep-sim (.*)$/.exec(last)?.[1]?.split(' ') ?? [];
    expect(words).toContain('--mutant');
    const small = parsePlan(readFileSync(words[1] ?? '', 'utf8'));
    expect(small.operations.length).toBeLessThan(20);
    const replay = call(...words);
    expect(replay.status).toBe(1);
    expect(replay.out).toMatch(/(durability|durable-before-ack) is broken/);
    // Beside the plans, the campaign: its page, and the same run for CI.
    expect(readFileSync(join(out, 'junit.xml'), 'utf8')).toMatch(/<failure message="broken in seeds? \d/);
    expect(parseCampaign(readFileSync(join(out, 'campaign.json'), 'utf8')).clusters.length).toBeGreaterThan(
      0,
    );
    // The engine as it is passes the same plan: the bug is what the plan shows.
    expect(call('replay', words[1] ?? '').status).toBe(0);
  });
});
