/** Validates the Redis operations of a plan file. */
import { redisKinds } from '../evidence/redis.ts';
import type { Field } from './fields.ts';
import { readChoice, readInteger, readObject, readText } from './fields.ts';
import { planLimits } from './plan-limits.ts';
import type { PlanRedisOperation } from './plan.ts';

/** Reads one Redis operation of a plan file. Throws `PlanInvalid`. */
export function readRedisOperation(field: Field): PlanRedisOperation {
  const fields = readObject(field, ['id', 'client', 'thinkUs', 'kind', 'key', 'other', 'amount']);
  return {
    id: readText(fields.id, 32),
    client: readInteger(fields.client, 0, planLimits.clientsMax - 1),
    thinkUs: readInteger(fields.thinkUs, 0, planLimits.durationUsMax),
    kind: readChoice(fields.kind, redisKinds),
    key: readInteger(fields.key, 0, planLimits.keysMax - 1),
    other: readInteger(fields.other, 0, planLimits.keysMax - 1),
    amount: readInteger(fields.amount, 0, 1_000_000_000),
  };
}
