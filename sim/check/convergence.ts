/**
 * INV10, convergence: once all is healed and repaired, all replicas of a key hold the same bytes. Compared are canonical
 * dumps: what lies on the disks of those who own the key now, read without the engine. One comparison is one replica of
 * one key against the key's first replica; a key that a replica lacks differs from one that it holds.
 *
 * Skipped: keys with an operation under way when the dumps were taken. Records that nobody asks this node for any more
 * (it was an owner once) are no replicas.
 */
import type { History } from '../history.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A key's newest record on one disk. */
export interface DumpedValue {
  /** `bucket/key`, as the history names it. */
  readonly name: string;
  readonly token: number;
  readonly bytes: Uint8Array | 'damaged';
}

/** All objects on one node's disk, by any name that is the same on every node. */
export interface ReplicaDump {
  readonly node: string;
  readonly atUs: number;
  readonly values: ReadonlyMap<string, DumpedValue>;
}

/** The nodes that own a token, in order of preference. */
export type OwnersOf = (token: number) => readonly string[];

export function checkConvergence(
  dumps: readonly ReplicaDump[],
  ownersOf: OwnersOf,
  inFlight: ReadonlySet<string>,
): CheckReport {
  const tally = new Tally('INV10');
  const byNode = new Map(dumps.map((dump) => [dump.node, dump]));
  for (const [key, { name, token }] of allKeys(dumps)) {
    if (inFlight.has(name)) {
      tally.skip();
      continue;
    }
    const [first, ...others] = ownersOf(token).map((node) => ({ node, dump: byNode.get(node) }));
    for (const other of others) {
      const left = first?.dump?.values.get(key)?.bytes;
      const right = other.dump?.values.get(key)?.bytes;
      tally.compare(isSame(left, right), other.dump?.atUs ?? 0, () => {
        return `${name}: ${first?.node ?? ''} holds ${describe(left)}, ${other.node} holds ${describe(right)}`;
      });
    }
  }
  return tally.report();
}

/** Names of the keys that somebody was still about to change, or may have been, at that instant. */
export function keysInFlight(history: History, atUs: number): ReadonlySet<string> {
  const open = history.filter(({ kind, completedUs }) => {
    return kind !== 'get' && (completedUs === undefined || completedUs > atUs);
  });
  return new Set(open.map(({ key }) => key));
}

/** Every key that anybody holds, in the order in which it is first found. */
function allKeys(dumps: readonly ReplicaDump[]): ReadonlyMap<string, DumpedValue> {
  const keys = new Map<string, DumpedValue>();
  for (const { values } of dumps) {
    for (const [key, value] of values) if (!keys.has(key)) keys.set(key, value);
  }
  return keys;
}

/** What is damaged is the same as nothing. */
function isSame(left: DumpedValue['bytes'] | undefined, right: DumpedValue['bytes'] | undefined): boolean {
  if (left === 'damaged' || right === 'damaged') return false;
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}

/** `612 bytes «w:c1:4»`: enough to see who is behind. */
function describe(bytes: DumpedValue['bytes'] | undefined): string {
  if (bytes === undefined) return 'nothing';
  if (bytes === 'damaged') return 'a damaged record';
  const tags =
    Buffer.from(bytes)
      .toString('utf8')
      .match(/«w:[^»]{1,60}»/gu) ?? [];
  return [`${bytes.length} bytes`, ...tags].join(' ');
}
