import { Chalk } from 'chalk';
import { describe, expect, it } from 'vitest';

import type { Failure } from '../sim/runner/result.ts';
import { summarizeAll } from '../sim/runner/result.ts';
import { summarize } from '../sim/runner/tally.ts';
import { brokenReport, reportOf, resultOf } from '../sim/runner/result-fixture.ts';
import { planOfSeed } from '../sim/runner/task.ts';
import { renderFailureLine, renderMissed, renderRun, renderSummary } from './terminal.ts';

const plain = new Chalk({ level: 0 });
const colours = new Chalk({ level: 1 });
const result = resultOf({
  scenario: 'crash-and-restart',
  seed: 7,
  verdict: 'failed',
  reports: [brokenReport(1_234_567, '#3 c0 put k: lost')],
});
const failure: Failure = {
  result,
  shrunk: undefined,
  replay: ['replay', 'lockstep-sim-out/crash-and-restart-7.min.json'],
};
const summary = summarizeAll([summarize('crash-and-restart', [result, resultOf()], failure)]);

describe('the terminal report', () => {
  it('says of a failure what broke, when, and on the last line how to replay it', () => {
    const lines = renderSummary(summary, plain).split('\n');
    expect(lines[0]).toBe('1 of 2 runs failed.');
    expect(lines).toContain('  broken, in which seeds: durability in 7');
    const at = lines.indexOf('crash-and-restart, seed 7 broke durability (INV4): an acknowledged write is');
    expect(lines.slice(at + 1, -1)).toEqual([
      '  never lost or undone.',
      '  what that means: an acknowledged write is lost, or something deleted or',
      '  replaced is back.',
      '  first bad event, at 1.235 s: #3 c0 put k: lost',
      '  got as far as: 3.500 s of virtual time, 100 operations, 2 faults struck',
    ]);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines.at(-1)).toBe(
      'replay: npx lockstep-sim replay lockstep-sim-out/crash-and-restart-7.min.json',
    );
  });

  it('names the mutant in every command that replays the run', () => {
    const shrunk = {
      plan: planOfSeed('calm', 1),
      result,
      runs: 40,
      minimal: true,
      operations: [9, 3],
      faults: [2, 1],
    } as const;
    const mutated = { ...failure, shrunk, replay: [...failure.replay, '--mutant', 'ack-before-sync'] };
    const lines = renderSummary(summarizeAll([summarize('calm', [result], mutated)]), plain).split('\n');
    expect(lines).toContain(
      '  this seed: npx lockstep-sim replay crash-and-restart --seed 7 --mutant ack-before-sync',
    );
  });

  it('fits a failure on a screen of 24 lines, however large its plan is', () => {
    const plan = planOfSeed('crash-and-restart', 1);
    const long = brokenReport(5, `lost ${'and more '.repeat(60)}`);
    const failed = resultOf({ scenario: 'crash-and-restart', seed: 8, verdict: 'failed', reports: [long] });
    const shrunk = {
      ...{ plan, result: failed, runs: 40, minimal: false },
      ...{ operations: [900, 300] as const, faults: [20, 10] as const },
    };
    const shrinks = ['shrink', 'out/x.json'];
    const large = { ...failure, result: failed, shrunk, shrinks, page: 'out/x.html', kept: ['a', 'b'] };
    const others = [9, 10].map((seed) => ({ ...failed, seed }));
    const of = summarizeAll([summarize('crash-and-restart', [failed, ...others, result], large)]);
    const lines = renderSummary(of, plain).split('\n');
    const screen = lines.slice(lines.findIndex((line) => line.startsWith('crash-and-restart, seed 8 broke')));
    expect(screen.length).toBeLessThanOrEqual(24);
    for (const line of screen) expect(line.length).toBeLessThanOrEqual(80);
    expect(screen).toContain('  of 3 other failed seeds, 2 failed the same way: 9 10');
    expect(screen.some((line) => /^ {4}and \d+ more$/.test(line))).toBe(true);
    expect(screen.at(-2)).toBe('  page: out/x.html');
  });

  it('tells a failure in one line of bounded length', () => {
    expect(renderFailureLine(result)).toBe(
      'crash-and-restart, seed 7 broke durability (INV4). #3 c0 put k: lost',
    );
    const wordy = { ...result, reports: [brokenReport(5, `two\nlines ${'and more '.repeat(50)}`)] };
    expect(renderFailureLine(wordy)).toMatch(
      /^crash-and-restart, seed 7 broke durability \(INV4\)\. two lines and more .{140}…$/,
    );
  });

  it('calls a vacuous run what it is', () => {
    const vacuous = reportOf({ ok: false, vacuous: true, checked: 3, reasons: ['durability compared 3'] });
    const empty = { ...result, reports: [vacuous] };
    const text = renderSummary(
      summarizeAll([summarize('calm', [empty], { ...failure, result: empty })]),
      plain,
    );
    expect(text).toContain('proves nothing about durability (INV4): it compared 3.');
  });

  it('names the faults that did not strike, and why', () => {
    const late = {
      id: 'f1',
      kind: 'network-delay',
      targets: ['n1', 'c2'],
      why: 'its moment did not come',
    } as const;
    const idle = {
      id: 'f4',
      kind: 'process-crash',
      targets: ['n3'],
      why: 'there was nothing to strike',
    } as const;
    expect(renderMissed(resultOf())).toBe('');
    expect(renderMissed(resultOf({ missed: [late] }))).toBe(
      '1 fault of the plan did not strike: f1 network-delay n1 c2 (its moment did not come)',
    );
    expect(renderMissed(resultOf({ missed: [late, idle] }))).toContain(
      '2 faults of the plan did not strike: f1 network-delay n1 c2 (its moment did not come), f4 process-crash n3 (there was nothing to strike)',
    );
  });

  it('is the same text with and without colours', () => {
    const coloured = renderSummary(summary, colours);
    const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');
    expect(coloured).not.toBe(renderSummary(summary, plain));
    expect(coloured.replaceAll(escapes, '')).toBe(renderSummary(summary, plain));
  });

  it('shows one run with its counts, checks and digest', () => {
    const text = renderRun(result, plain);
    expect(text).toContain('FAILED crash-and-restart, seed 7: 5,000 events, 3.500 s of virtual time');
    expect(text).toContain('operations: 90 ok, 6 failed, 4 unknown');
    expect(text).toContain('durability is broken: compared 100, skipped 2');
    expect(text).toContain(`digest: ${'ab'.repeat(32)}`);
  });
});
