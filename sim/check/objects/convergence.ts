/**
 * `convergence` (INV10): after heal and repair, all replicas of a key hold the same bytes. The check compares canonical
 * dumps: the records on the disks of the key's current owners, read without the engine. One comparison is one replica
 * of one key against the key's first replica. A replica that lacks the key differs from one that holds it.
 *
 * No disk still holds what was flushed (FLUSHDB): one comparison more for each node.
 *
 * Skipped: keys with an operation in progress when the dumps were taken, and, where hints alone repair, keys excused by
 * a coordinator's death (`HintlessDeaths`). Records on a node that no longer owns the key are no replicas. Also skipped is
 * a tombstone, or an object that was flushed, beside nothing on a disk that was damaged (misdirected or lost writes,
 * rotten bits): its node may have removed it, and the damage have hit the record of that.
 */
import { byKey, isWrite } from '../../evidence/history.ts';
import type { History } from '../../evidence/history.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** A key's newest record on one disk. */
export interface DumpedValue {
  /** `bucket/key`, as the history names it. */
  readonly name: string;
  readonly token: number;
  readonly bytes: Uint8Array | 'damaged';
}

/** All objects on one node's disk, by a key name that is the same on every node. */
export interface ReplicaDump {
  readonly node: string;
  readonly atUs: number;
  readonly values: ReadonlyMap<string, DumpedValue>;
  /** The keys of which only a tombstone is there, or that were flushed, if the disk was damaged; absent: none. */
  readonly buried?: ReadonlySet<string>;
  /** The keys of those whose bucket was flushed since. */
  readonly flushed?: readonly string[];
}

/** The nodes that own a token, in order of preference. */
export type OwnersOf = (token: number) => readonly string[];

/** A node that died without notice, by a crash or a power loss. */
export interface Death {
  readonly node: string;
  readonly atUs: number;
}

/**
 * Excused keys where hints alone repair (anti-entropy is off). A coordinator writes the hint for a replica once it
 * knows that the replica lacks the write: at once when it considers the replica down, and after `patienceUs` when the
 * replica is silent. A coordinator that dies before then loses that knowledge, and only anti-entropy could repair the
 * key.
 *
 * The coordinator of a write is the node that the client asks, if it owns the key, and otherwise one of the owners: a
 * current owner, or one that has left since.
 */
export class HintlessDeaths {
  readonly #writes: ReadonlyMap<string, History>;
  readonly #deaths: readonly Death[];
  readonly #patienceUs: number;
  readonly #members: readonly string[];

  /** `members`: the current members. */
  constructor(history: History, deaths: readonly Death[], patienceUs: number, members: readonly string[]) {
    this.#members = members;
    this.#writes = deaths.length === 0 ? new Map() : byKey(history.filter(isWrite));
    this.#deaths = deaths;
    this.#patienceUs = patienceUs;
  }

  /** Whether a coordinator of a write of this key died while it may have known of a missed replica without a hint. */
  excuse(name: string, owners: readonly string[]): boolean {
    return (this.#writes.get(name) ?? []).some(({ node: asked, invokedUs, completedUs = Infinity }) =>
      this.#deaths.some(({ node, atUs }) => {
        const mayOwn = owners.includes(node) || !this.#members.includes(node);
        const coordinates = owners.includes(asked) ? node === asked : mayOwn;
        return coordinates && atUs >= invokedUs && atUs <= completedUs + this.#patienceUs;
      }),
    );
  }
}

/** Excuses nothing: anti-entropy repairs what hints do not. */
export const noHintlessDeaths = new HintlessDeaths([], [], 0, []);

/** The dumps of one run and what they are compared by. */
export interface ReplicaEvidence {
  readonly dumps: readonly ReplicaDump[];
  readonly ownersOf: OwnersOf;
  /** Names of keys with an operation in progress when the dumps were taken. */
  readonly inFlight: ReadonlySet<string>;
  readonly deaths: HintlessDeaths;
}

/** The row of `convergence`. */
export const convergenceRow = invariant({
  name: 'convergence',
  code: 'INV10',
  promise: 'all replicas become equal, byte for byte',
  gravity: 'data',
  breach: 'replicas differ for ever, and reads depend on which of them answer',
  needs: ['equal-replicas'],
  everydayFloor: 15,
  check: ({ replicas }: { readonly replicas: ReplicaEvidence }) =>
    checkConvergence(replicas.dumps, replicas.ownersOf, replicas.inFlight, replicas.deaths),
});

/** Compares the dumps. `inFlight`: names of keys to skip; `deaths`: excuses where hints alone repair. */
export function checkConvergence(
  dumps: readonly ReplicaDump[],
  ownersOf: OwnersOf,
  inFlight: ReadonlySet<string>,
  deaths: HintlessDeaths = noHintlessDeaths,
): CheckReport {
  const tally = new Tally('convergence');
  const byNode = new Map(dumps.map((dump) => [dump.node, dump]));
  for (const [key, { name, token }] of allKeys(dumps)) {
    const owners = ownersOf(token);
    if (inFlight.has(name) || deaths.excuse(name, owners)) {
      tally.skip();
      continue;
    }
    const [first, ...others] = owners.map((node) => ({ node, dump: byNode.get(node) }));
    for (const other of others) {
      const left = first?.dump?.values.get(key)?.bytes;
      const right = other.dump?.values.get(key)?.bytes;
      const isLeftover = (left === undefined ? other : first)?.dump?.buried?.has(key) === true;
      if ((left === undefined || right === undefined) && isLeftover) {
        tally.skip();
        continue;
      }
      tally.compare(isSame(left, right), other.dump?.atUs ?? 0, () => {
        return `${name}: ${first?.node ?? ''} holds ${describe(left)}, ${other.node} holds ${describe(right)}`;
      });
    }
  }
  for (const { node, atUs, flushed, buried, values } of dumps) {
    if (flushed === undefined) continue;
    const left = flushed.filter((key) => buried?.has(key) !== true);
    if (left.length < flushed.length) tally.skip();
    tally.compare(left.length === 0, atUs, () => {
      const first = left[0] ?? '';
      return `${node} still holds ${left.length} keys whose bucket was flushed, first ${values.get(first)?.name ?? first}`;
    });
  }
  return tally.report();
}

/** Names of the keys with a write in progress, or of unknown outcome, at that instant. */
export function keysInFlight(history: History, atUs: number): ReadonlySet<string> {
  const open = history.filter(({ kind, completedUs }) => {
    return kind !== 'get' && (completedUs === undefined || completedUs > atUs);
  });
  return new Set(open.map(({ key }) => key));
}

/** Every key that any replica holds, in the order in which it is first found. */
function allKeys(dumps: readonly ReplicaDump[]): ReadonlyMap<string, DumpedValue> {
  const keys = new Map<string, DumpedValue>();
  for (const { values } of dumps) {
    for (const [key, value] of values) if (!keys.has(key)) keys.set(key, value);
  }
  return keys;
}

/** A damaged record counts as a missing one. */
function isSame(left: DumpedValue['bytes'] | undefined, right: DumpedValue['bytes'] | undefined): boolean {
  if (left === 'damaged' || right === 'damaged') return false;
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}

/** What tags of values begin with, and their longest form. */
const tagOpening = Buffer.from('«w:');
const tagBytesMax = 256;

/** `612 bytes «w:c1:4»`: enough to tell which replica is behind. */
function describe(bytes: DumpedValue['bytes'] | undefined): string {
  if (bytes === undefined) return 'nothing';
  if (bytes === 'damaged') return 'a damaged record';
  const searched = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const tags: string[] = [];
  for (let at = searched.indexOf(tagOpening); at >= 0; at = searched.indexOf(tagOpening, at + 1)) {
    const tag = /^«w:[^»]{1,60}»/u.exec(searched.toString('utf8', at, at + tagBytesMax))?.[0];
    if (tag !== undefined) tags.push(tag);
  }
  return [`${bytes.length} bytes`, ...tags].join(' ');
}
