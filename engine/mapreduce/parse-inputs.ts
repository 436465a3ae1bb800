/** Parses the `inputs` of a job in all their forms (Riak's, typed buckets, objects of the Rust port). */
import type { ByteString } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import { checkFields, describe, isArray, isObject, nameOf, refuse } from './fields.ts';
import type { JsonObject } from './fields.ts';
import type { Input, Inputs, JobLimits, Json, KeyFilter } from './job.ts';
import { compileKeyFilters } from './key-filters.ts';

const forms =
  'a bucket, [type, bucket], a list of [bucket, key], [bucket, key, keydata] or [bucket, key, keydata, type], or {bucket, key_filters}';

/** Parses `inputs`. Throws `BadRequest` with the place and its rule. */
export function parseInputs(value: Json, limits: JobLimits): Inputs {
  if (typeof value === 'string') return bucketInputs(defaultType, nameOf(value, 'bucket', 'inputs'));
  if (isArray(value)) return listOrTypedBucket(value, limits);
  if (isObject(value)) return filtered(value, limits);
  return refuse('inputs', `must be ${forms}; not ${describe(value)}`);
}

/**
 * Parses a value that names an object: an input of a list, or a result that becomes an input of the next phase. Throws
 * `BadRequest`.
 */
export function inputOf(value: Json, where: string): Input {
  if (isObject(value)) return objectInput(value, where);
  if (!isArray(value) || value.length < 2 || value.length > 4) {
    const shapes = '[bucket, key], [bucket, key, keydata] or [bucket, key, keydata, type]';
    return refuse(where, `must be ${shapes}; not ${describe(value)}`);
  }
  const [bucket, key, keydata, type] = value;
  const typed = isArray(bucket) ? bucket : undefined;
  if (typed !== undefined && typed.length !== 2)
    refuse(where, `a typed bucket is [type, bucket], not ${describe(bucket)}`);
  const named = typed?.[0] ?? (type === null ? undefined : type);
  return {
    type: named === undefined ? defaultType : nameOf(named, 'bucket type', where),
    bucket: nameOf(typed === undefined ? bucket : typed[1], 'bucket', where),
    key: nameOf(key, 'key', where),
    keydata: value.length > 2 ? keydata : undefined,
  };
}

function objectInput(value: JsonObject, where: string): Input {
  checkFields(value, ['type', 'bucket', 'key', 'keydata', 'data', 'value', 'tag'], where);
  const { type, bucket, key, keydata, data, tag } = value;
  return {
    type: type === undefined ? defaultType : nameOf(type, 'bucket type', where),
    bucket: nameOf(bucket, 'bucket', where),
    key: nameOf(key, 'key', where),
    keydata: keydata ?? data ?? tag,
  };
}

function listOrTypedBucket(value: readonly Json[], limits: JobLimits): Inputs {
  const [type, bucket] = value;
  if (value.length === 2 && typeof type === 'string' && typeof bucket === 'string')
    return bucketInputs(nameOf(type, 'bucket type', 'inputs'), nameOf(bucket, 'bucket', 'inputs'));
  if (value.length === 0) return refuse('inputs', 'No inputs were given.');
  if (value.length > limits.inputCountMax)
    return refuse('inputs', `${value.length} inputs; at most ${limits.inputCountMax} are allowed`);
  return { kind: 'list', items: value.map((item, index) => inputOf(item, `inputs[${index}]`)) };
}

function filtered(value: JsonObject, limits: JobLimits): Inputs {
  if ('index' in value)
    return refuse('inputs', 'there are no secondary indexes; give a bucket with key_filters, or keys');
  if ('module' in value || 'query' in value || 'filter' in value)
    return refuse(
      'inputs',
      'there is no search and no input function; give a bucket with key_filters, or keys',
    );
  checkFields(value, ['bucket', 'key_filters'], 'inputs');
  const { bucket, key_filters: filters } = value;
  const filter = filters === undefined ? undefined : compileKeyFilters(filters, limits.filterCountMax);
  if (!isArray(bucket)) return bucketInputs(defaultType, nameOf(bucket, 'bucket', 'inputs'), filter);
  const [type, name] = bucket;
  if (bucket.length !== 2) refuse('inputs', `a typed bucket is [type, bucket], not ${describe(bucket)}`);
  return bucketInputs(nameOf(type, 'bucket type', 'inputs'), nameOf(name, 'bucket', 'inputs'), filter);
}

function bucketInputs(type: ByteString, bucket: ByteString, filter?: KeyFilter): Inputs {
  return { kind: 'bucket', type, bucket, filter };
}
