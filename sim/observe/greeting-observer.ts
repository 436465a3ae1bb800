/**
 * Compares the incarnation number with which a node greets its peers with the one that its disk certainly holds
 * (`node-identity`). A node that greets with a number which a crash would take back may greet with it again as another
 * incarnation.
 */
import { ByteReader, BytesError } from '../../engine/base/bytes.ts';
import type { GreetingRecord } from '../check/cluster/identity.ts';
import type { HostDisk } from '../world/disk/disk.ts';

const path = 'identity';
/** The magic and the checksum before the body. */
const headBytes = 12;

/** Follows the identity files of some hosts. */
export class GreetingObserver {
  readonly records: GreetingRecord[] = [];
  readonly #nowUs: () => number;
  readonly #diskOf: (host: string) => Pick<HostDisk, 'durableFile'>;
  /** Greetings that are recorded, as `n1/3/1700000000`. */
  readonly #seen = new Set<string>();
  /** Hosts whose identity file a fault has altered, or whose disk lied about its sync. */
  readonly #altered = new Set<string>();

  constructor(nowUs: () => number, diskOf: (host: string) => Pick<HostDisk, 'durableFile'>) {
    this.#nowUs = nowUs;
    this.#diskOf = diskOf;
  }

  /** A fault altered the file of that path, or a sync of it did nothing. */
  altered(host: string, file: string): void {
    if (file === path || file === `${path}.new`) this.#altered.add(host);
  }

  /** The host's process greets a peer with this incarnation number. */
  greeted(node: string, life: number, generation: number): void {
    const name = `${node}/${life}/${generation}`;
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    const durable = this.#altered.has(node) ? undefined : generationOf(this.#diskOf(node).durableFile(path));
    this.records.push({ node, atUs: this.#nowUs(), generation, durable });
  }
}

/** The incarnation number in an identity file; 0 without a file, undefined for bytes that are none. */
function generationOf(bytes: Uint8Array | undefined): number | undefined {
  if (bytes === undefined || bytes.length < headBytes) return 0;
  try {
    const reader = new ByteReader(bytes.subarray(headBytes));
    reader.string();
    return reader.u64();
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}
