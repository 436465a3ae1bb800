/**
 * Hands file reads to the thread pool in bursts. A thread of the pool finishes a read from the page cache before the
 * next one arrives, and sleeps; waking it costs more than the read. While as many reads are under way as the pool has
 * threads, further reads queue here. Once fewer are, all queued reads are submitted at once, and the first awakened
 * threads find the rest. No thread idles because of it: with a slow device the pool could not begin the queued reads
 * earlier.
 */
import fs from 'node:fs';

/** Callback of `fs.read`: the error, or the bytes read. */
export type ReadDone = (error: NodeJS.ErrnoException | null, bytes: number) => void;

interface Waiting {
  readonly fd: number;
  readonly into: Uint8Array;
  readonly offset: number;
  readonly done: ReadDone;
}

/** Threads of the pool unless UV_THREADPOOL_SIZE changes it (source: libuv's guide to its thread pool). */
const poolThreads = 4;

/** The reads of one disk. */
export class ReadBursts {
  #underWay = 0;
  #waiting: Waiting[] = [];

  /** As `fs.read`, into all of `into`. */
  read(fd: number, into: Uint8Array, offset: number, done: ReadDone): void {
    if (this.#underWay < poolThreads) this.#submit(fd, into, offset, done);
    else this.#waiting.push({ fd, into, offset, done });
  }

  #submit(fd: number, into: Uint8Array, offset: number, done: ReadDone): void {
    this.#underWay += 1;
    fs.read(fd, into, 0, into.length, offset, (error, bytes) => {
      this.#underWay -= 1;
      done(error, bytes);
      if (this.#underWay < poolThreads && this.#waiting.length > 0) this.#submitAll();
    });
  }

  #submitAll(): void {
    const burst = this.#waiting;
    this.#waiting = [];
    for (const { fd, into, offset, done } of burst) this.#submit(fd, into, offset, done);
  }
}
