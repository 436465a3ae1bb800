/**
 * The configuration of bucket types: named sets of default properties (as in Riak). The type `default` always exists.
 * Its buckets keep one value per key; those of other types keep siblings, as in Riak.
 */
import { parseNodeId } from '../base/ids.ts';
import type { BucketProperties, PropertySet, PropertyValue } from '../buckets/properties.ts';
import { propertyTable, typeProperties } from '../buckets/properties.ts';
import type { Fields, ValueKind } from './values.ts';
import { mapOf, mapped, optional, parsedText, plain, record } from './values.ts';

/** Most bucket types of a configuration. */
export const bucketTypeCountMax = 1000;

const typeName = parsedText('a type name of 1 to 64 of A-Z a-z 0-9 _ . -', (given): string | undefined =>
  parseNodeId(given),
);

type GivenProperties = Record<string, PropertyValue | undefined>;

const fields: Fields<GivenProperties> = Object.fromEntries(
  [...propertyTable].map(([name, row]) => {
    const kind = plain(row.allowed, (given) => {
      const value = row.parse(given);
      return value === undefined ? undefined : { value };
    });
    return [name, { kind: optional(kind), fallback: undefined }];
  }),
);

const properties: ValueKind<GivenProperties> = record(fields);

/** The types by name, `default` first. */
export const bucketTypeMap: ValueKind<ReadonlyMap<string, BucketProperties>> = mapped(
  mapOf(typeName, properties, bucketTypeCountMax),
  `a map of at most ${bucketTypeCountMax}, from ${typeName.allowed} to bucket properties (${properties.allowed})`,
  (given, path, report) => {
    const types = new Map([['default', typeProperties('default', new Map())]]);
    for (const [name, set] of given) {
      const type = typeProperties(name, setOf(set));
      // Riak leaves the combination undefined; it is refused here.
      if (type.allowMult && type.lastWriteWins) {
        report(
          `${path}.${name}`,
          'allow_mult and last_write_wins are both true; allowed: at most one of them',
        );
        return undefined;
      }
      types.set(name, type);
    }
    return { value: types };
  },
);

function setOf(given: GivenProperties): PropertySet {
  const set = new Map<string, PropertyValue>();
  for (const [name, value] of Object.entries(given)) if (value !== undefined) set.set(name, value);
  return set;
}
