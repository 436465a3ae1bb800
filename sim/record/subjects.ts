/** The keys and transactions of a recording, numbered in the order of their first mention. */

const keyForm = /^(?:[a-z]\d+(?:\.\d+)?|marked\d)$/;
/** Buckets whose properties an operator changes (evidence/bucket-changes.ts). */
const bucketForm = /\bmarked\d+\b/g;
/** Longest key of a plan; longest packed form of one (engine/base/object-key.ts). */
const keyBytesMax = 8;
const packedBytesMax = 60;
const xidForm = /[A-Za-z0-9_.]{1,64}-[0-9a-f]{12}-\d{1,16}/g;
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
    const short = name.slice(name.lastIndexOf('/') + 1);
    const known = this.#numbers.get(short);
    if (known !== undefined) return known;
    const number = this.names.length;
    this.names.push(short);
    this.#numbers.set(short, number);
    return number;
  }

  /** Those that a sentence mentions: `bucket/key` names, transaction ids, buckets that an operator changes. */
  inText(text: string): readonly number[] {
    const keys = [...text.matchAll(/[a-z]+\/([a-z]\d+(?:\.\d+)?)\b/g)].map(([, key]) => key ?? '');
    return this.#all([...keys, ...(text.match(xidForm) ?? []), ...(text.match(bucketForm) ?? [])]);
  }

  /** Those in a frame's body, where a text or a packed key has its length before it. */
  inBytes(bytes: Uint8Array): readonly number[] {
    const searched = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, searchedBytesMax));
    const text = searched.toString('latin1');
    const names: string[] = text.match(xidForm) ?? [];
    for (let at = 0; at + 2 < text.length; at++) {
      const length = text.charCodeAt(at);
      if (length < 2 || length > packedBytesMax) continue;
      const found = text.slice(at + 1, at + 1 + length);
      const name = length <= keyBytesMax && keyForm.test(found) ? found : keyOfPacked(found);
      if (name !== undefined && !this.#ignored.has(name)) names.push(name);
    }
    return this.#all(names);
  }

  #all(names: readonly string[]): readonly number[] {
    return [...new Set(names.map((name) => this.of(name)))];
  }
}

/** The key in a packed form: type and bucket, each after its length, then the key. */
function keyOfPacked(packed: string): string | undefined {
  const typeBytes = packed.charCodeAt(0);
  const bucketAt = 1 + typeBytes + 2;
  if (typeBytes === 0 || bucketAt >= packed.length || packed.charCodeAt(bucketAt - 2) !== 0) return undefined;
  const key = packed.slice(bucketAt + packed.charCodeAt(bucketAt - 1));
  return key.length >= 2 && key.length <= keyBytesMax && keyForm.test(key) ? key : undefined;
}
