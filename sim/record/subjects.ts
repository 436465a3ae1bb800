/** The keys and transactions of a recording, numbered in the order of their first mention. */

const keyForm = /^(?:[a-z]\d+(?:\.\d+)?|marked\d)$/;
/** Buckets whose properties an operator changes (evidence/bucket-changes.ts). */
const bucketForm = /\bmarked\d+\b/g;
/** Longest key of a plan; longest packed form of one (engine/base/object-key.ts). */
const keyBytesMax = 8;
const packedBytesMax = 60;
const xidForm = /[A-Za-z0-9_.]{1,64}-[0-9a-f]{12}-\d{1,16}/g;
const dash = 0x2d;
/** From one dash of a transaction's id to the other. */
const dashesApart = 13;
const [lettersFrom, lettersTo] = [0x61, 0x7a];
/** Where a message names what it is about: in its first bytes. */
const searchedBytesMax = 2048;

/** Numbers subjects, and finds their names in texts and messages. */
export class Subjects {
  readonly names: string[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #ignored: ReadonlySet<string>;

  /** `ignored`: names that look like keys and are none, as those of nodes and racks. */
  constructor(ignored: Iterable<string>) {
    this.#ignored = new Set(ignored);
  }

  /** The number of a key (`bucket/k3` and `k3` are one) or of a transaction's id. */
  of(name: string): number {
    return this.#numberOf(name.slice(name.lastIndexOf('/') + 1));
  }

  /** The number of a client's idempotency key: `x5/48`. */
  ofId(id: string): number {
    return this.#numberOf(id);
  }

  /** Those that a sentence mentions: `bucket/key` names, transaction ids, buckets that an operator changes. */
  inText(text: string): readonly number[] {
    const keys = [...text.matchAll(/[a-z]+\/([a-z]\d+(?:\.\d+)?)\b/g)].map(([, key]) => key ?? '');
    return this.#all([...keys, ...(text.match(xidForm) ?? []), ...(text.match(bucketForm) ?? [])]);
  }

  /** Those in a frame's body, where a text or a packed key has its length before it. */
  inBytes(bytes: Uint8Array): readonly number[] {
    const searched = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, searchedBytesMax));
    const names: string[] = mayHoldXid(searched) ? (searched.toString('latin1').match(xidForm) ?? []) : [];
    for (let at = 0; at + 2 < searched.length; at++) {
      const length = searched[at] ?? 0;
      if (length < 2 || length > packedBytesMax) continue;
      const [from, to] = [at + 1, Math.min(at + 1 + length, searched.length)];
      const plain = length <= keyBytesMax ? plainKey(searched, from, to) : undefined;
      const name = plain ?? packedKey(searched, from, to);
      if (name !== undefined && !this.#ignored.has(name)) names.push(name);
    }
    return this.#all(names);
  }

  #numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.names.length;
    this.names.push(name);
    this.#numbers.set(name, number);
    return number;
  }

  #all(names: readonly string[]): readonly number[] {
    return [...new Set(names.map((name) => this.of(name)))];
  }
}

/** Whether two dashes stand as far apart as in a transaction's id. */
function mayHoldXid(bytes: Buffer): boolean {
  for (let at = 1; at + dashesApart < bytes.length; at++) {
    if (bytes[at] === dash && bytes[at + dashesApart] === dash) return true;
  }
  return false;
}

function plainKey(bytes: Buffer, from: number, to: number): string | undefined {
  const first = bytes[from] ?? 0;
  if (to - from < 2 || to - from > keyBytesMax || first < lettersFrom || first > lettersTo) return undefined;
  const key = bytes.toString('latin1', from, to);
  return keyForm.test(key) ? key : undefined;
}

/** The key in a packed form: type and bucket, each after its length, then the key. */
function packedKey(bytes: Buffer, from: number, to: number): string | undefined {
  const typeBytes = bytes[from] ?? 0;
  const bucketAt = from + 1 + typeBytes + 2;
  if (typeBytes === 0 || bucketAt >= to || bytes[bucketAt - 2] !== 0) return undefined;
  return plainKey(bytes, bucketAt + (bytes[bucketAt - 1] ?? 0), to);
}
