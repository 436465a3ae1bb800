/**
 * The table of records that a start found on its disk, by how the incarnation before it ended; and the follower of
 * starts. A record counts that the start may read, damaged or not.
 */
import { byteStringOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey, systemKey } from '../../engine/base/object-key.ts';
import { segmentHeadBytes } from '../../engine/storage/log/record.ts';
import { clientBucket } from '../../engine/transactions/formats/idempotency-records.ts';
import { branchBucket, decisionBucket } from '../../engine/transactions/formats/records.ts';
import { readRecords } from '../observe/log-records.ts';
import { logsInUse } from '../observe/segments-in-use.ts';
import { roleOf } from '../plan/file-roles.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { Survival } from '../world/disk/file-image.ts';
import type { World } from '../world/world.ts';
import type { Cell, CoverageTable } from './table.ts';
import { allCells } from './table.ts';

/** By the prefix of their keys in the store. */
const systemRecords = { branch: branchBucket, decision: decisionBucket, 'idempotency key': clientBucket };
type SystemRecord = keyof typeof systemRecords;
const prefixes = (Object.keys(systemRecords) as readonly SystemRecord[]).map((name) => {
  return { name, prefix: systemKey(systemRecords[name], byteStringOf('')) };
});

const records = ['object', 'removal', ...Object.keys(systemRecords), 'hint', 'other system record'];
const files = ['hint file', 'manifest', 'identity', 'members', 'snapshot'];
/** File roles under the names of the table. */
const fileNames: Readonly<Record<string, string>> = { hint: 'hint file' };

/** An orderly stop, or what a crash left of the disk. */
const endings = [
  'stop',
  'keepAll',
  'dropAll',
  'subset',
  'prefix',
  'torn',
  'namesLost',
] as const satisfies readonly ('stop' | Survival)[];

/** The table. */
export const recoveryTable: CoverageTable = {
  name: 'recoveries',
  title: 'records and files that a start found, by how the incarnation before it ended',
  axes: ['record', 'ending'],
  cells: allCells([...records, ...files], endings),
  excuses: [],
};

/** Follows the starts of one run. */
export class Recoveries {
  readonly cells: Cell[] = [];
  readonly #endings = new Map<string, string>();

  constructor(world: World, cluster: Cluster) {
    world.trace.on('host.stopped', ({ host }) => void this.#endings.set(host, 'stop'));
    world.trace.on('host.crashed', ({ host, fields }) => {
      this.#endings.set(host, String(fields['what']));
    });
    world.trace.on('host.booted', ({ host }) => {
      const ending = this.#endings.get(host);
      if (ending === undefined || !cluster.names.includes(host)) return;
      for (const record of foundIn(cluster.host(host).disk.durableFiles())) this.cells.push([record, ending]);
    });
  }
}

function foundIn(disk: ReadonlyMap<string, Buffer>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const path of disk.keys()) {
    const role = roleOf(path);
    const name = fileNames[role] ?? role;
    if (files.includes(name)) found.add(name);
  }
  for (const room of ['store', 'hints'] as const) {
    for (const [, content, { salt }] of logsInUse(disk, room)) {
      readRecords(content, segmentHeadBytes, salt, ({ key, value }) => {
        found.add(room === 'hints' ? 'hint' : kindOf(key, value === undefined));
      });
    }
  }
  return found;
}

function kindOf(key: PackedKey, removed: boolean): string {
  if (!isSystemKey(key)) return removed ? 'removal' : 'object';
  return prefixes.find(({ prefix }) => key.startsWith(prefix))?.name ?? 'other system record';
}
