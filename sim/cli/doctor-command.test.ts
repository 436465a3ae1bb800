import { expect, it } from 'vitest';

import type { Way } from './doctor-command.ts';
import { diagnose, doctorText } from './doctor-command.ts';

function way(name: string, events: readonly string[], showsEvents = true): Way {
  return {
    name,
    digest: () => Promise.resolve(events.join()),
    trace: showsEvents ? () => Promise.resolve(events) : undefined,
  };
}

const events = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

it('equal runs are the same, however they are made', async () => {
  const findings = await diagnose([way('one', events), way('two', events)]);
  expect(findings.map(({ difference }) => difference)).toEqual([undefined, undefined]);
  expect(doctorText('calm, seed 1', findings)).toBe(
    'calm, seed 1: a,b,c,d,e,f,g,h\n  same    one\n  same    two',
  );
});

it('the first different event is named, with the events around it in both runs', async () => {
  const changed = ['a', 'b', 'c', 'd', 'e', 'f', 'x', 'h'];
  const [, finding] = await diagnose([way('one', events), way('two', changed)]);
  expect(finding?.difference).toEqual({
    event: 6,
    before: ['b', 'c', 'd', 'e', 'f'],
    first: ['g', 'h'],
    other: ['x', 'h'],
  });
});

it('a run that ends early, or goes on, parts where one of the two ends', async () => {
  const [, shorter, longer] = await diagnose([
    way('one', events),
    way('two', events.slice(0, 7)),
    way('three', [...events, 'i']),
  ]);
  expect(shorter?.difference).toMatchObject({ event: 7, first: ['h'], other: [] });
  expect(longer?.difference).toMatchObject({ event: 8, first: [], other: ['i'] });
});

it('a difference whose events cannot be shown is one nevertheless', async () => {
  const findings = await diagnose([way('one', events), way('two', ['a'], false)]);
  expect(findings[1]?.difference).toMatchObject({ event: undefined });
  expect(doctorText('calm', findings)).toContain('DIFFERS two: a');
});
