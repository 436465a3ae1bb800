/** Tests of the wait for the reader of an output stream. */
import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';

import { flushed } from './flushed.ts';

/** A pipe whose reader takes a piece only when the test calls `take`. */
class SlowPipe extends Writable {
  readonly taken: Buffer[] = [];
  #took: ((error?: Error) => void) | undefined;

  override _write(chunk: Buffer, _encoding: BufferEncoding, took: (error?: Error) => void): void {
    this.taken.push(chunk);
    this.#took = took;
  }

  take(error?: Error): void {
    this.#took?.(error);
  }
}

test('ends once the reader of a pipe has taken everything', async () => {
  const pipe = new SlowPipe();
  pipe.write('one');
  pipe.write('two');
  let isOver = false;
  const over = flushed(pipe).then(() => (isOver = true));
  pipe.take();
  await nextTurn();
  expect(isOver).toBe(false);
  pipe.take();
  await nextTurn();
  pipe.take();
  await over;
  expect(Buffer.concat(pipe.taken).toString()).toBe('onetwo');
});

test('ends at once where nothing waits, and where the reader is gone', async () => {
  const pipe = new SlowPipe();
  await flushed(pipe);
  pipe.write('one');
  const over = flushed(pipe);
  pipe.take(new Error('EPIPE'));
  await over;
  expect(pipe.taken).toHaveLength(1);
});
