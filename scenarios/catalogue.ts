/** Every scenario, in the order in which `lockstep-sim` lists and runs them. */
import { assert } from '../engine/base/assert.ts';
import type { Scenario } from '../sim/scenario/scenario.ts';
import { calm } from './calm.ts';
import { crashAndRestart } from './crash-and-restart.ts';
import { flappingPeer } from './flapping-peer.ts';
import { joinUnderLoad } from './join-under-load.ts';
import { leaveUnderLoad } from './leave-under-load.ts';
import { oneWayPartition } from './one-way-partition.ts';
import { partitionMinority } from './partition-minority.ts';
import { replaceDeadNode } from './replace-dead-node.ts';
import { rollingRestart } from './rolling-restart.ts';
import { snapshotCorruption } from './snapshot-corruption.ts';
import { tornLogTail } from './torn-log-tail.ts';

export const scenarios: readonly Scenario[] = [
  calm,
  partitionMinority,
  oneWayPartition,
  flappingPeer,
  crashAndRestart,
  rollingRestart,
  tornLogTail,
  snapshotCorruption,
  joinUnderLoad,
  leaveUnderLoad,
  replaceDeadNode,
];

/** The scenario of that name; undefined when there is none. */
export function findScenario(name: string): Scenario | undefined {
  return scenarios.find((scenario) => scenario.name === name);
}

assert(
  new Set(scenarios.map((scenario) => scenario.name)).size === scenarios.length,
  'names of scenarios are distinct',
);
