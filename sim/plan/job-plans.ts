/** The MapReduce jobs of a plan: generated from a scenario's load, and read from a plan file. */
import fc from 'fast-check';

import { jobKinds } from '../evidence/jobs.ts';
import type { JobLoad } from './scenario.ts';
import { integerIn, listOf, weighted } from './arbitraries.ts';
import type { Field } from './fields.ts';
import { readChoice, readInteger, readList, readObject, readText, refuse } from './fields.ts';
import { planLimits } from './plan-limits.ts';
import type { PlanJob } from './plan.ts';

/** The jobs of a plan, with ids `j0`, `j1`, …. `keyCount` is the number of keys in the plan. */
export function jobsOf(load: JobLoad, keyCount: number): fc.Arbitrary<readonly PlanJob[]> {
  const most = Math.min(load.keysMax, keyCount);
  const keys = fc.uniqueArray(fc.integer({ min: 0, max: keyCount - 1 }), {
    ...{ minLength: 1, maxLength: most, size: 'max' },
  });
  const job = fc.record({
    client: fc.integer({ min: 0, max: load.clients - 1 }),
    thinkUs: integerIn(load.thinkUs),
    kind: weighted(load.kinds),
    keys,
  });
  return listOf(load.count, job).map((jobs) => jobs.map((one, index) => ({ id: `j${index}`, ...one })));
}

/** Reads one job of a plan file. Throws `PlanInvalid`. */
export function readJob(field: Field, keyCount: number): PlanJob {
  const fields = readObject(field, ['id', 'client', 'thinkUs', 'kind', 'keys']);
  const keys = readList(fields.keys, keyCount, (item) => readInteger(item, 0, keyCount - 1));
  if (keys.length === 0 || new Set(keys).size !== keys.length)
    refuse(fields.keys, 'keys are named, each once');
  return {
    id: readText(fields.id, 32),
    client: readInteger(fields.client, 0, planLimits.clientsMax - 1),
    thinkUs: readInteger(fields.thinkUs, 0, planLimits.durationUsMax),
    kind: readChoice(fields.kind, jobKinds),
    keys,
  };
}
