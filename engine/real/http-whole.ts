/**
 * An answer whose body is at hand, onto a response of node:http whose head has not been written. Node gives a body that
 * `end` is called with to the system as a piece beside the head, with an empty third one behind it, and has to gather
 * them first; what `write` is called with as Latin-1 text is joined with the head. That is what most answers are.
 */
import type { ServerResponse } from 'node:http';
import { bufferOf } from '../base/ids.ts';

/** Bytes are made text where they and a usual head are what node takes from the stack. */
const bytesAsTextMax = 8192;

/** Names of headers go out as they are written here; the length is added where a body is allowed. */
export function sendWhole(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  body: string | Uint8Array,
): void {
  const piece = typeof body === 'string' ? plainText(body) : body;
  if (status !== 204 && status !== 304) headers['Content-Length'] = piece.length;
  response.writeHead(status, headers);
  const text = typeof piece === 'string' ? piece : shortText(piece);
  if (text === undefined) response.end(piece);
  else if (text === '') response.end();
  else {
    response.write(text, 'latin1');
    // It would be held back until the end of the turn for what may follow: nothing does.
    response.socket?.uncork();
    response.end();
  }
}

/** Text of ASCII alone as it is, other text as its bytes. */
function plainText(text: string): string | Buffer {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** Each byte as a character of Latin-1. */
function shortText(bytes: Uint8Array): string | undefined {
  return bytes.length <= bytesAsTextMax ? bufferOf(bytes).toString('latin1') : undefined;
}
