/** Waits for the reader of an output stream. */
import type { Writable } from 'node:stream';

/**
 * Resolves once everything that was written to the stream has left, or its reader is gone. A pipe takes 64 KiB ahead of
 * its reader, and ending the process drops the rest.
 */
export function flushed(stream: Writable): Promise<void> {
  if (stream.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    // The reader of a pipe may end before everything was written, as `head` does.
    stream.on('error', () => resolve());
    stream.write('', () => resolve());
  });
}
