/**
 * Bucket types: named sets of default properties (Riak's). The type `default` always exists; its buckets keep one
 * value per key, the others' keep siblings, as Riak's do.
 */
import { parseNodeId } from '../base/ids.ts';
import type { ValueKind } from './values.ts';
import { flag, mapOf, mapped, optional, parsedText, record } from './values.ts';

/** Properties of the buckets of one type that do not set their own. */
export interface BucketTypeProperties {
  /** Concurrent writes leave siblings for the client to resolve; otherwise the newest wins. */
  readonly allowMult: boolean;
  /** The newest write wins by its time alone, whatever its writer had seen. */
  readonly lastWriteWins: boolean;
}

export const bucketTypeCountMax = 1000;
export const defaultTypeName = 'default';

const typeName = parsedText('a type name of 1 to 64 of A-Z a-z 0-9 _ . -', (given): string | undefined =>
  parseNodeId(given),
);

interface GivenProperties {
  readonly allow_mult: boolean | undefined;
  readonly last_write_wins: boolean | undefined;
}

const properties: ValueKind<GivenProperties> = record({
  allow_mult: { kind: optional(flag), fallback: undefined },
  last_write_wins: { kind: optional(flag), fallback: undefined },
});

/** The types by name, `default` first. */
export const bucketTypeMap: ValueKind<ReadonlyMap<string, BucketTypeProperties>> = mapped(
  mapOf(typeName, properties, bucketTypeCountMax),
  `a map of at most ${bucketTypeCountMax}, from ${typeName.allowed} to ${properties.allowed} (true or false)`,
  (given, path, report) => {
    const types = new Map([[defaultTypeName, { allowMult: false, lastWriteWins: false }]]);
    for (const [name, { allow_mult: allowMult, last_write_wins: lastWriteWins }] of given) {
      const type = {
        allowMult: allowMult ?? (name !== defaultTypeName && lastWriteWins !== true),
        lastWriteWins: lastWriteWins ?? false,
      };
      // Riak calls the combination undefined; we do not accept it.
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
