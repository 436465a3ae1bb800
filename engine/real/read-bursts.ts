/**
 * Reads of files, handed to the thread pool in bursts. The pool's threads are done with a read from the page cache
 * sooner than the next one is handed over, and sleep: to wake one costs more than the read. So while the pool has as
 * many reads as it has threads, further ones gather here; once it has fewer, all of them go at once, and the threads
 * that the first wakes find the others. No thread idles for it: from a slow device the pool would not begin them earlier.
 */
import fs from 'node:fs';

export type ReadDone = (error: NodeJS.ErrnoException | null, bytes: number) => void;

interface Waiting {
  readonly fd: number;
  readonly into: Uint8Array;
  readonly offset: number;
  readonly done: ReadDone;
}

/** Threads of the pool, unless UV_THREADPOOL_SIZE says otherwise (source: libuv's guide to its thread pool). */
const poolThreads = 4;

export class ReadBursts {
  #underWay = 0;
  #waiting: Waiting[] = [];

  /** As `fs.read`. */
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
