/** Runs every kept plan, an eighth of them twice. A file of its own, so that it runs beside `scenarios.test.ts`. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { presentNameOf } from '../sim/plan/former-names.ts';
import { parsePlan } from '../sim/plan/plan-validation.ts';
import { scenarios } from './catalogue.ts';
import { expectToPass } from './expect-to-pass.fixture.ts';

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
