/** Decodes replies, the client's side of RESP. The server does not use it; the simulator's clients and observers do. */

/** A decoded reply. */
export type Reply =
  | { readonly kind: 'text' | 'error'; readonly text: string }
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'bulk'; readonly bytes: Buffer }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'array'; readonly items: readonly Reply[] };

const noBytes = Buffer.alloc(0);
const depthMax = 32;

/** A reply and the offset of its end. */
interface Parsed {
  readonly reply: Reply;
  readonly end: number;
}

/** Splits a byte stream into replies. */
export class ReplyReader {
  #bytes: Buffer = noBytes;

  /** Takes the next bytes of the stream. */
  push(chunk: Uint8Array): void {
    this.#bytes = this.#bytes.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#bytes, chunk]);
  }

  /** The next complete reply; undefined until more bytes arrive. Throws `Error` for bytes that no server sends. */
  next(): Reply | undefined {
    const parsed = parseAt(this.#bytes, 0, 0);
    if (parsed === undefined) return undefined;
    this.#bytes = this.#bytes.subarray(parsed.end);
    return parsed.reply;
  }
}

function parseAt(bytes: Buffer, at: number, depth: number): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', at, 'latin1');
  if (lineEnd < 0) return undefined;
  const line = bytes.toString('latin1', at + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case '+':
      return { reply: { kind: 'text', text: line }, end };
    case '-':
      return { reply: { kind: 'error', text: line }, end };
    case ':':
      return { reply: { kind: 'integer', value: Number(line) }, end };
    case '_':
      return { reply: { kind: 'nothing' }, end };
    case '$':
      return parseBulk(bytes, end, Number(line));
    case '=':
      return parseBulk(bytes, end, Number(line));
    case '*':
      return parseItems(bytes, end, Number(line), depth);
    case '%':
      return parseItems(bytes, end, 2 * Number(line), depth);
    default:
      throw new Error(`no reply begins with ${bytes.toString('latin1', at, at + 1)}`);
  }
}

function parseBulk(bytes: Buffer, at: number, length: number): Parsed | undefined {
  if (length < 0) return { reply: { kind: 'nothing' }, end: at };
  if (bytes.length < at + length + 2) return undefined;
  return { reply: { kind: 'bulk', bytes: bytes.subarray(at, at + length) }, end: at + length + 2 };
}

function parseItems(bytes: Buffer, at: number, count: number, depth: number): Parsed | undefined {
  if (depth >= depthMax) throw new Error('replies are nested too deep');
  if (count < 0) return { reply: { kind: 'nothing' }, end: at };
  const items: Reply[] = [];
  let end = at;
  for (let index = 0; index < count; index++) {
    const item = parseAt(bytes, end, depth + 1);
    if (item === undefined) return undefined;
    items.push(item.reply);
    end = item.end;
  }
  return { reply: { kind: 'array', items }, end };
}
