import { beforeAll, describe, expect, it } from 'vitest';

import type { Plan } from '../../sim/plan/plan.ts';
import type { Recording } from '../../sim/record/recording.ts';
import { recordRun } from '../../sim/record/record-run.ts';
import { planOfSeed } from '../../sim/runner/task.ts';
import { chromeTrace } from './chrome-trace.ts';
import { operationsCsv } from './operations-csv.ts';
import { shivizLog } from './shiviz.ts';

let recording: Recording;

beforeAll(async () => {
  const whole = planOfSeed('crash-and-restart', 1);
  const plan: Plan = {
    ...whole,
    ...{ operations: whole.operations.slice(0, 20), scrapes: [], calmUs: 1000 },
    ...{ stormUs: 200_000, floors: { durability: 0 } },
  };
  recording = await recordRun(plan, () => 0);
});

describe('exports of a run', () => {
  it('ShiViz: every clock of a host grows, and a receipt comes after its sending', () => {
    const events = [...shivizLog(recording).matchAll(/^(.*)\n(\S*) (\{.*\})$/gm)].map(
      ([, text = '', host = '', clock = '']) => ({
        ...{ text, host, clock: JSON.parse(clock) as Record<string, number> },
      }),
    );
    const last = new Map<string, number>();
    for (const { host, clock } of events) {
      expect(clock[host]).toBe((last.get(host) ?? 0) + 1);
      last.set(host, clock[host] ?? 0);
    }
    const arrived = recording.messages.filter(({ arrivedUs }) => arrivedUs >= 0).length;
    expect(events.filter(({ text }) => text.startsWith('receives ')).length).toBe(arrived);
    const receipt = events.find(({ text }) => text.startsWith('receives ') && text.endsWith(' of n2'));
    expect(receipt?.clock['n2']).toBeGreaterThan(0);
  });

  it('Chrome trace: every flow has its two ends, and no slice ends before it begins', () => {
    const { traceEvents } = JSON.parse(chromeTrace(recording)) as { traceEvents: Record<string, unknown>[] };
    const flows = (end: string): readonly unknown[] =>
      traceEvents.filter(({ ph }) => ph === end).map(({ id }) => id);
    expect(flows('s').length).toBeGreaterThan(20);
    expect(flows('s')).toEqual(flows('f'));
    expect(traceEvents.filter(({ ph, dur }) => ph === 'X' && Number(dur) < 0)).toEqual([]);
    expect(traceEvents.filter(({ cat }) => cat === 'ok' || cat === 'fail' || cat === 'unknown')).toHaveLength(
      recording.operations.length,
    );
  });

  it('CSV: a row for each operation, with fields that hold commas and quotes', () => {
    const [first] = recording.operations;
    const odd = {
      ...recording,
      operations: [{ ...recording.operations[0], text: 'says "a", b' }],
    } as Recording;
    expect(operationsCsv(recording).trimEnd().split('\r\n')).toHaveLength(recording.operations.length + 1);
    expect(operationsCsv(odd).split('\r\n')[1]).toMatch(/,"says ""a"", b"$/);
    expect(operationsCsv(recording)).toContain(`\r\n${first?.id ?? '?'},`);
  });
});
