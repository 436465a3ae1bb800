/** Divides a stream of JSON objects that follow each other without a separator, as listings send them. */

const jsonBytesMax = 64 * 1024 * 1024;

/** The objects in the stream. Throws if the stream ends within one, or if one is longer than 64 MiB. */
export async function* jsonObjects(chunks: AsyncIterable<string>): AsyncGenerator<unknown, void, undefined> {
  let held = '';
  let at = 0;
  let depth = 0;
  let quoted = false;
  for await (const chunk of chunks) {
    held += chunk;
    for (; at < held.length; at++) {
      const char = held[at];
      if (quoted) {
        if (char === '\\') at += 1;
        else if (char === '"') quoted = false;
      } else if (char === '"') quoted = true;
      else if (char === '{') depth += 1;
      else if (char === '}' && --depth === 0) {
        yield JSON.parse(held.slice(0, at + 1));
        held = held.slice(at + 1);
        at = -1;
      }
    }
    if (held.length > jsonBytesMax) throw new Error('the node sends an object of more than 64 MiB');
  }
  if (held.trim() !== '') throw new Error('the answer ended within an object: the node or the connection failed');
}
