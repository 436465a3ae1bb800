/** Converts an uploaded module to its binary form: text is compiled once it is known to be harmless. */
import { LockstepError } from '../base/errors.ts';
import { bufferOf } from '../base/ids.ts';
import type { WasmTools } from '../io/wasm-tools.ts';
import { watNesting, watNestingMax } from './wat-nesting.ts';

const binaryMagic = Buffer.from('\0asm', 'latin1');

/** The binary form of `body`. Rejects with `TooLarge`, `BadRequest`, or `Timeout` if compiling takes too long. */
export async function binaryOf(
  body: Uint8Array,
  tools: Pick<WasmTools, 'compileText'>,
  bytesMax: number,
  timeoutUs: number,
): Promise<Uint8Array> {
  if (bufferOf(body).subarray(0, binaryMagic.length).equals(binaryMagic)) return body;
  if (body.length > bytesMax) {
    throw new LockstepError('TooLarge', `a text of ${body.length} bytes; allowed: at most ${bytesMax}`);
  }
  const text = watTextOf(body);
  if (watNesting(text) > watNestingMax) {
    const detail = `the text nests more than ${watNestingMax} levels deep; compile it yourself and register the .wasm`;
    throw new LockstepError('BadRequest', detail);
  }
  return tools.compileText(text, timeoutUs);
}

/** The text of a module. Throws `BadRequest` for other bytes. */
function watTextOf(body: Uint8Array): string {
  const wanted =
    'neither WebAssembly (it begins with 00 61 73 6d) nor its text (it begins with a parenthesis or a comment)';
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new LockstepError('BadRequest', wanted);
  }
  if (!/^\s*(\(|;;)/.test(text)) throw new LockstepError('BadRequest', wanted);
  return text;
}
