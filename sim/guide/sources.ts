/** What guided explorations draw from: the built-in scenarios. */
import { findScenario, scenarios } from '../../scenarios/catalogue.ts';
import { swarm } from '../../scenarios/swarm.ts';
import { present } from '../../engine/base/assert.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import type { Sources } from './explorer.ts';

/** The swarm, and all other scenarios. */
export const builtIn: Sources = {
  planOfSeed: (seed) => generatePlan(swarm, seed),
  stories: scenarios.map(({ name }) => name).filter((name) => name !== swarm.name),
  planOfStory: ({ scenario, seed }) =>
    generatePlan(present(findScenario(scenario), `the scenario ${scenario}`), seed),
};
