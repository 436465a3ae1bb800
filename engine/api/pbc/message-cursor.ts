/**
 * Reads the fields of a message one after the other, as long as they are in the usual form. That form has each field at
 * most once, 32-bit numbers in their shortest encoding, and nothing truncated. Another form makes the cursor unsound
 * for good: it then yields empty values, and the caller checks `sound` at the end.
 *
 * Source: Protocol Buffers, "Encoding".
 */
/** A cursor over the body of one message, or over a nested message in it. */
export class MessageCursor {
  /** No bytes: the value of a field until it is read. */
  readonly nothing: Buffer = noBytes;
  readonly #body: Buffer;
  readonly #end: number;
  #at: number;
  /** One bit for each field number that was read. */
  #met = 0;
  #sound = true;

  constructor(body: Buffer, at = 0, end: number = body.length) {
    this.#body = body;
    this.#at = at;
    this.#end = end;
  }

  /** Whether everything so far was in the usual form. */
  get sound(): boolean {
    return this.#sound;
  }

  /** Whether the field of that number was read. */
  met(field: number): boolean {
    return (this.#met & (1 << field)) !== 0;
  }

  /** Allows another occurrence of the field, for repeated fields. */
  again(field: number): void {
    this.#met &= ~(1 << field);
  }

  /** The next field's tag (number * 8 + wire type); 0 at the end, or if the cursor is unsound. */
  tag(): number {
    if (!this.#sound || this.#at === this.#end) return 0;
    const tag = this.number();
    const bit = 1 << (tag >>> 3);
    if (tag < 8 || tag >= tagEnd || (this.#met & bit) !== 0) return this.#give();
    this.#met |= bit;
    return tag;
  }

  /** Reads an unsigned number of at most 32 bits. */
  number(): number {
    const body = this.#body;
    let at = this.#at;
    let value = 0;
    for (let shift = 0; shift < 35 && at < this.#end; shift += 7) {
      const byte = body[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      // A last byte of 0 is not the shortest form, and the fifth byte holds only four bits.
      if ((byte === 0 && shift > 0) || (shift === 28 && byte > 0x0f)) break;
      this.#at = at;
      return value >>> 0;
    }
    return this.#give();
  }

  /** Reads a flag: any number but 0 is true. */
  flag(): boolean {
    return this.number() !== 0;
  }

  /** Reads a bytes field, as a view of the body. */
  run(): Buffer {
    const at = this.#take();
    return this.#sound ? this.#body.subarray(at, this.#at) : noBytes;
  }

  /** A cursor over the nested message that comes next. */
  inner(): MessageCursor {
    const at = this.#take();
    return new MessageCursor(this.#body, at, this.#sound ? this.#at : at);
  }

  /** Skips a bytes field and returns its offset. */
  #take(): number {
    const length = this.number();
    const at = this.#at;
    if (length > this.#end - at) return this.#give();
    this.#at = at + length;
    return at;
  }

  #give(): 0 {
    this.#sound = false;
    return 0;
  }
}

const noBytes = Buffer.alloc(0);
/** The hand-written codecs have no fields with higher numbers. */
const tagEnd = 31 * 8;
