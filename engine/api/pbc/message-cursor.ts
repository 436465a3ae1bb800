/**
 * Reads the fields of a client's message one after the other, as far as they are in the usual form: each at most once,
 * numbers of 32 bits in their shortest form, nothing cut short. What is not makes the cursor unsound for good; it says
 * so at the end, and gives empty values until then (source: Protocol Buffers, "Encoding").
 */
export class MessageCursor {
  /** A run of no bytes: what stands for a field until it is met. */
  readonly nothing: Buffer = noBytes;
  readonly #body: Buffer;
  readonly #end: number;
  #at: number;
  /** A bit for each number of a field that was met. */
  #met = 0;
  #sound = true;

  constructor(body: Buffer, at = 0, end: number = body.length) {
    this.#body = body;
    this.#at = at;
    this.#end = end;
  }

  /** Everything so far was in the usual form. */
  get sound(): boolean {
    return this.#sound;
  }

  /** The field of that number has been met. */
  met(field: number): boolean {
    return (this.#met & (1 << field)) !== 0;
  }

  /** The field of that number may be met again. */
  again(field: number): void {
    this.#met &= ~(1 << field);
  }

  /** The next field's tag (number * 8 + wire type); 0 at the end, or when the message is not sound. */
  tag(): number {
    if (!this.#sound || this.#at === this.#end) return 0;
    const tag = this.number();
    const bit = 1 << (tag >>> 3);
    if (tag < 8 || tag >= tagEnd || (this.#met & bit) !== 0) return this.#give();
    this.#met |= bit;
    return tag;
  }

  /** An unsigned number of at most 32 bits. */
  number(): number {
    const body = this.#body;
    let at = this.#at;
    let value = 0;
    for (let shift = 0; shift < 35 && at < this.#end; shift += 7) {
      const byte = body[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      // A last byte of 0 says nothing, and the fifth one has room for four bits.
      if ((byte === 0 && shift > 0) || (shift === 28 && byte > 0x0f)) break;
      this.#at = at;
      return value >>> 0;
    }
    return this.#give();
  }

  flag(): boolean {
    return this.number() !== 0;
  }

  /** A view of a run of bytes. */
  run(): Buffer {
    const at = this.#take();
    return this.#sound ? this.#body.subarray(at, this.#at) : noBytes;
  }

  /** The fields of the message in a run. */
  inner(): MessageCursor {
    const at = this.#take();
    return new MessageCursor(this.#body, at, this.#sound ? this.#at : at);
  }

  /** Passes over a run; where it begins. */
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
/** Fields of higher numbers are none of those that are read by hand. */
const tagEnd = 31 * 8;
