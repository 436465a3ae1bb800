import { beforeAll, describe, expect, it } from 'vitest';

import type { Plan } from '../sim/plan/plan.ts';
import type { Recording } from '../sim/record/recording.ts';
import { recordRun } from '../sim/record/record-run.ts';
import { planOfSeed } from '../sim/runner/task.ts';
import { everything, traceLines } from './trace.ts';

let recording: Recording;

beforeAll(async () => {
  const whole = planOfSeed('crash-and-restart', 1);
  const plan: Plan = {
    ...whole,
    ...{ operations: whole.operations.slice(0, 40), scrapes: [], calmUs: 1000 },
    ...{ stormUs: 400_000, floors: { durability: 0 } },
  };
  recording = await recordRun(plan, () => 0);
});

function perSecond(lines: readonly string[]): readonly number[] {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const second = /^(\d+)\./.exec(line)?.[1];
    if (second !== undefined) counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return [...counts.values()];
}

describe('the trace of a run', () => {
  it('fits a screen of 80 columns per virtual second, and counts what it leaves out', () => {
    const all = traceLines(recording, everything, 'messages');
    const overview = traceLines(recording, everything, 'overview');
    expect(Math.max(...perSecond(all))).toBeGreaterThan(200);
    expect(Math.max(...perSecond(overview))).toBeLessThanOrEqual(20);
    for (const line of overview) expect(line.length).toBeLessThanOrEqual(80);
    const wide = traceLines(recording, everything, 'overview', 10_000);
    const [rest = [], shown = []] = [true, false].map((counts) =>
      wide.filter((line) => line.includes('… and from') === counts),
    );
    const left = rest.flatMap((line) =>
      [...line.matchAll(/(?:: |, )([\d,]+) /g)].map(([, count = '']) => Number(count.replaceAll(',', ''))),
    );
    expect(shown.length + left.reduce((sum, count) => sum + count, 0)).toBe(all.length);
  });

  it('shows operations with their outcomes, and messages with their arrivals, in order of time', () => {
    const all = traceLines(recording, everything, 'messages');
    const [first] = recording.operations;
    expect(all.join('\n')).toContain(first?.text ?? '?');
    expect(all.some((line) => / n\d -> n\d .* arrives \d/.test(line))).toBe(true);
    const times = all.map((line) => Number.parseFloat(line));
    expect(times).toEqual(times.toSorted((left, right) => left - right));
  });

  it('keeps what its filters ask for, and nothing else', () => {
    const of = (filter: Partial<typeof everything>): readonly string[] =>
      traceLines(recording, { ...everything, ...filter }, 'messages');
    const all = of({});
    const key = recording.subjects.find((name) => /^k\d+$/.test(name)) ?? '';
    const ofKey = of({ keys: [`newest/${key}`] });
    expect(ofKey.length).toBeGreaterThan(3);
    expect(ofKey.length).toBeLessThan(all.length);
    for (const line of ofKey) expect(line).toMatch(new RegExp(`\\b${key}\\b`));
    const syncs = of({ events: ['disk.file.synced'], nodes: ['n1'] });
    expect(syncs.length).toBeGreaterThan(0);
    for (const line of syncs) expect(line).toContain(' n1 disk.file.synced');
    const late = of({ fromUs: 600_000, untilUs: 700_000 });
    expect(late).toEqual(
      all.filter((line) => Number.parseFloat(line) >= 0.6 && Number.parseFloat(line) <= 0.7),
    );
  });
});
