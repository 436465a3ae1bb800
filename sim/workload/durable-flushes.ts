/**
 * Records since when which node's disk knows durably of a flush: of an epoch in the property record of the bucket of the
 * flushed database. The world reports every run of bytes that becomes durable.
 */
import { ByteReader } from '../../engine/base/bytes.ts';
import { tryDecode } from '../../engine/base/decoding.ts';
import type { ByteString } from '../../engine/base/ids.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import { bucketOfDatabase } from '../../engine/api/redis/databases.ts';
import { readRecord, recordName } from '../../engine/buckets/property-codec.ts';
import { epochIn } from '../../engine/buckets/registers.ts';
import type { FlushCopies, FlushRack } from '../evidence/flush-copies.ts';
import { flushedDatabase } from '../evidence/redis-databases.ts';
import type { Plan } from '../plan/plan.ts';

const storePath = /^store\//;
/** A property record of the bucket is shorter. */
const recordBytesMax = 1_024;

/** Whether clients flush a database, and every member knows epochs: beside an older build, a flush deletes each key. */
export function hasEpochs({ faults, redisOperations = [] }: Plan): boolean {
  if (faults.some(({ kind }) => kind === 'build-change' || kind === 'upgrade')) return false;
  return redisOperations.some(({ kind }) => kind === 'database' || kind === 'flushall');
}

/** The durable flushes of one run. */
export class DurableFlushes implements FlushCopies {
  readonly racks: readonly FlushRack[];
  readonly #name: string;
  readonly #mark: Buffer;
  /** By epoch: when it became durable on its first disk. */
  readonly #begun = new Map<number, number>();
  /** By node and epoch: since when. */
  readonly #held = new Map<string, Map<number, number>>();

  constructor(plan: Plan) {
    const bucket = byteStringOf(String(plan.settings['redis_bucket'] ?? 'redis'));
    this.#name = recordName(byteStringOf('default'), bucketOfDatabase(bucket, flushedDatabase));
    this.#mark = Buffer.from(this.#name as ByteString, 'latin1');
    this.racks = racksOf(plan);
  }

  /** As for `DurableTags`, with the path of the file and the instant. */
  becameDurable(node: string, path: string, image: Buffer, from: number, to: number, atUs: number): void {
    if (!storePath.test(path)) return;
    const start = Math.max(1, from - recordBytesMax);
    for (
      let at = image.indexOf(this.#mark, start);
      at >= 0 && at < to;
      at = image.indexOf(this.#mark, at + 1)
    ) {
      // The record begins with the length of its name.
      const bytes = Uint8Array.from(image.subarray(at - 1, at - 1 + recordBytesMax));
      const found = tryDecode(() => readRecord(new ByteReader(bytes)));
      if (found?.name !== this.#name) continue;
      const epoch = epochIn(found.record);
      if (epoch > 0) this.#note(node, epoch, atUs);
    }
  }

  knownSince(node: string, fromUs: number): number {
    let since = Infinity;
    for (const [epoch, atUs] of this.#held.get(node) ?? [])
      if ((this.#begun.get(epoch) ?? 0) >= fromUs) since = Math.min(since, atUs);
    return since;
  }

  #note(node: string, epoch: number, atUs: number): void {
    const held = this.#held.get(node) ?? new Map<number, number>();
    this.#held.set(node, held);
    if (!held.has(epoch)) held.set(epoch, atUs);
    if (!this.#begun.has(epoch)) this.#begun.set(epoch, atUs);
  }
}

function racksOf({ faults, nodes }: Plan): readonly FlushRack[] {
  const changing = new Set(
    faults.flatMap(({ kind, targets }) =>
      kind === 'membership-change' || kind === 'permanent-node-loss' ? targets : [],
    ),
  );
  const names = new Set(nodes.map(({ datacenter, rack }) => `${datacenter} ${rack}`));
  return [...names].map((name): FlushRack => {
    const those = nodes.filter(({ datacenter, rack }) => `${datacenter} ${rack}` === name);
    const lasting = those.filter((node) => node.spare !== true && !changing.has(node.name));
    const nameOf = (node: { readonly name: string }): string => node.name;
    const others = those.filter((node) => !lasting.includes(node)).map(nameOf);
    return { datacenter: those[0]?.datacenter ?? '', members: lasting.map(nameOf), others };
  });
}
