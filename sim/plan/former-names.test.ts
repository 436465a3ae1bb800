/** Former names of scenarios and fields are accepted, and a renamed scenario's seeds draw what they drew before. */
import { describe, expect, it } from 'vitest';

import { calm } from '../../scenarios/calm.ts';
import { findScenario, scenarios } from '../../scenarios/catalogue.ts';
import { diskErrors } from '../../scenarios/disk-errors.ts';
import { redisExpiry } from '../../scenarios/redis-expiry.ts';
import { replacementLeaves } from '../../scenarios/replacement-leaves.ts';
import { formerScenarioNames, presentNameOf, seedNameOf } from './former-names.ts';
import { generatePlan } from './plan-generation.ts';
import { formatPlan } from './plan.ts';
import { parsePlan } from './plan-validation.ts';
import type { Scenario } from './scenario.ts';
import { mustBeScenario } from './scenario-validation.ts';

describe('a renamed scenario', () => {
  it('is found by its former name', () => {
    const present = scenarios.map(({ name }) => name);
    expect(formerScenarioNames.length).toBeGreaterThan(20);
    for (const former of formerScenarioNames) {
      expect(present).not.toContain(former);
      expect(findScenario(former)?.name).toBe(presentNameOf(former));
    }
  });

  it('draws the plans of its former name', () => {
    const { scenario, ...plan } = generatePlan(replacementLeaves, 7);
    const { scenario: former, ...before } = generatePlan({ ...replacementLeaves, name: 'heir-leaves' }, 7);
    expect([scenario, former]).toEqual(['replacement-leaves', 'heir-leaves']);
    expect(plan).toEqual(before);
    expect(generatePlan({ ...replacementLeaves, name: 'another' }, 7).faults).not.toEqual(plan.faults);
  });

  it('seeds its runs with its former name', () => {
    expect(seedNameOf('replacement-leaves')).toBe('heir-leaves');
    expect(seedNameOf('heir-leaves')).toBe('heir-leaves');
    expect(seedNameOf('calm')).toBe('calm');
  });

  it('is named by its present name in a plan read from a file', () => {
    const text = formatPlan(generatePlan(replacementLeaves, 7));
    expect(parsePlan(text.replace('"replacement-leaves"', '"heir-leaves"'))).toEqual(parsePlan(text));
  });

  it('leaves its former name to no other scenario', () => {
    const taken = 'heir-leaves.name: there is a scenario of that name already';
    expect(() => mustBeScenario({ ...calm, name: 'heir-leaves' }, [])).toThrow(taken);
  });
});

/** `value` with keys in place of others, at every depth. */
function withKeys(value: unknown, keys: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((item) => withKeys(item, keys));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [keys[key] ?? key, withKeys(item, keys)]),
  );
}

const formerKeys = {
  description: 'story',
  repairedBy: 'mendedBy',
  malformedInput: 'garbage',
  choices: 'words',
  expiring: 'mortals',
  ttlMs: 'lifeMs',
};

describe('former names of fields', () => {
  it.each([diskErrors, redisExpiry, replacementLeaves])('are read in the scenario $name', (scenario) => {
    const given = { ...scenario, name: 'of-a-user' };
    const former = withKeys(given, formerKeys) as Scenario;
    expect(former).not.toEqual(given);
    expect(mustBeScenario(former, [])).toEqual(mustBeScenario(given, []));
  });

  it('are read in plans', () => {
    const text = formatPlan(generatePlan(diskErrors, 7));
    const former = text.replace('"repairedBy":', '"mendedBy":').replace('"malformedInput":', '"garbage":');
    expect(former).not.toBe(text);
    expect(parsePlan(former)).toEqual(parsePlan(text));
  });

  it('are refused beside the present name', () => {
    const twice = { ...calm, name: 'of-a-user', story: 'once more' };
    expect(() => mustBeScenario(twice, [])).toThrow(
      'of-a-user: "story" is the former name of "description", which is given, too',
    );
  });
});
