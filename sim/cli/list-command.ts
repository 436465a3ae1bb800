/** `lockstep-sim list`: the scenarios, and what may happen in them. */
import type { ChalkInstance } from 'chalk';

import { scenarios } from '../../scenarios/catalogue.ts';
import { faultKinds } from '../faults/kinds/fault-kinds.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { Own } from '../runner/user-defined.ts';

/** For people: a paragraph per scenario, then the planted bugs. */
export function listText(own: Own, paint: ChalkInstance): string {
  const paragraphs = [...scenarios, ...own.scenarios].map((scenario) => {
    const faults = scenario.faults.map(({ kind }) => `${kind} ${faultKinds[kind].title}`);
    return [
      paint.bold(scenario.name),
      `  ${scenario.story}`,
      `  faults: ${faults.length === 0 ? 'none' : faults.join(', ')}`,
      `  invariants: ${Object.keys(scenario.invariants).join(', ')}`,
    ].join('\n');
  });
  const bugs = mutants.map(
    (bug) => `  ${bug.id} ${bug.title} (${bug.scenario}, ${bug.oracles.join(' or ')})`,
  );
  return [...paragraphs, paint.bold('planted bugs'), ...bugs].join('\n');
}

/** For programs: one line. */
export function listJson(own: Own): string {
  return JSON.stringify({
    scenarios: [...scenarios, ...own.scenarios].map(({ name, story, cluster, faults, invariants }) => ({
      name,
      story,
      cluster,
      faults: faults.map(({ kind }) => kind),
      invariants: Object.keys(invariants),
    })),
    plants: mutants.map(({ id, title, scenario, oracles, seedsMax }) => ({
      id,
      title,
      scenario,
      oracles,
      seedsMax,
    })),
  });
}
