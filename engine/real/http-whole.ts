/**
 * Sends an answer with a complete body on a response of node:http whose head has not been written.
 *
 * For a body passed to `end`, Node hands the system the head, the body and an empty third piece, which the system
 * gathers. A Latin-1 text passed to `write` is joined with the head instead. Most answers take this path.
 */
import type { ServerResponse } from 'node:http';
import { bufferOf } from '../base/ids.ts';

/** Largest body sent as text, in bytes: with a usual head it fits the buffer that Node takes from the stack. */
const bytesAsTextMax = 8192;

/**
 * Sends the answer. `headers`: names and values in turn. Names go out as given; `Content-Length` is added where a body is
 * allowed.
 */
export function sendWhole(
  response: ServerResponse,
  status: number,
  headers: string[],
  body: string | Uint8Array,
): void {
  const piece = typeof body === 'string' ? plainText(body) : body;
  headers.push(...lengthLines(status, piece.length));
  response.writeHead(status, headers);
  const text = typeof piece === 'string' ? piece : shortText(piece);
  if (text === undefined) response.end(piece);
  else if (text === '') response.end();
  else {
    response.write(text, 'latin1');
    // Node would otherwise cork the socket until the end of the turn for further writes, and there are none.
    response.socket?.uncork();
    response.end();
  }
}

/** The line that states a body's length, where a body is allowed. */
export function lengthLines(status: number, bytes: number): readonly string[] {
  return status === 204 || status === 304 ? [] : ['Content-Length', String(bytes)];
}

/** ASCII text unchanged; other text as its UTF-8 bytes. */
function plainText(text: string): string | Buffer {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** Each byte as a Latin-1 character; undefined if there are too many. */
function shortText(bytes: Uint8Array): string | undefined {
  return bytes.length <= bytesAsTextMax ? bufferOf(bytes).toString('latin1') : undefined;
}
