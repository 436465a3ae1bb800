/**
 * Where the log's lines go. A node does not depend on its log: a pipe that nobody reads and a volume that is full cost
 * lines, never requests. A line is written before `write` returns where the system takes it; what it does not take now
 * is kept, within a bound, and tried again a little later and with the next line. What is lost is counted, and told in a
 * line of its own as soon as one can be written again.
 */
import { writeSync } from 'node:fs';

/** Kept for a reader that is slow. */
const keptBytesMax = 256 * 1024;
const retryMs = 100;

/** What the system says when it takes no more for now. */
const busyCodes: readonly unknown[] = ['EAGAIN', 'EWOULDBLOCK', 'EINTR'];

/** Writes a run of bytes, or a part of it; answers how many. Throws what the system says. */
export type WriteBytes = (bytes: Uint8Array) => number;

export interface LinesOptions {
  readonly write: WriteBytes;
  /** Calls `retry` after some time; keeps no process alive. */
  readonly later: (retry: () => void) => void;
  /** The line that tells of so many lost ones. */
  readonly describeLoss: (lines: number) => string;
}

export class LogLines {
  readonly #options: LinesOptions;
  /** Lines that wait; of the first one perhaps only its end. */
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #lost = 0;
  /** The last byte that was written ends no line: the rest of one was lost. */
  #midLine = false;
  #retrying = false;

  constructor(options: LinesOptions) {
    this.#options = options;
  }

  /** Lines lost since one was last told of. */
  get lost(): number {
    return this.#lost;
  }

  write(line: string): void {
    this.#flush();
    if (this.#kept.length === 0 && this.#lost > 0) this.#tellLoss();
    this.#add(Buffer.from(line));
  }

  #tellLoss(): void {
    const lost = this.#lost;
    this.#lost = 0;
    // When it is lost itself it is one of those that the next one tells of.
    if (!this.#add(Buffer.from(this.#options.describeLoss(lost)))) this.#lost += lost - 1;
  }

  /** False: it is lost. */
  #add(given: Buffer): boolean {
    const line = this.#midLine && this.#kept.length === 0 ? Buffer.concat([newline, given]) : given;
    const left = this.#kept.length === 0 ? this.#tryWrite(line) : line;
    if (left === undefined) return true;
    // The end of a line that has begun must come, or the next one would stand in the middle of it.
    const isBegun = left.length < line.length;
    if (left.length === 0 || (!isBegun && this.#keptBytes + left.length > keptBytesMax)) {
      this.#lost += 1;
      return false;
    }
    this.#kept.push(left);
    this.#keptBytes += left.length;
    this.#retryLater();
    return true;
  }

  /** What is left of the bytes for later; undefined: nothing; no bytes: they are lost. */
  #tryWrite(bytes: Buffer): Buffer | undefined {
    let left = bytes;
    try {
      while (left.length > 0) {
        const count = this.#options.write(left);
        if (count > 0) this.#midLine = left[count - 1] !== newline[0];
        left = left.subarray(count);
      }
      return undefined;
    } catch (error) {
      if (error instanceof Error && 'code' in error && busyCodes.includes(error.code)) return left;
      return noBytes;
    }
  }

  #flush(): void {
    for (let next = this.#kept[0]; next !== undefined; next = this.#kept[0]) {
      const left = this.#tryWrite(next);
      if (left !== undefined && left.length > 0) {
        this.#keptBytes -= next.length - left.length;
        this.#kept[0] = left;
        return;
      }
      this.#kept.shift();
      this.#keptBytes -= next.length;
      if (left !== undefined) this.#lost += 1;
    }
  }

  #retryLater(): void {
    if (this.#retrying) return;
    this.#retrying = true;
    this.#options.later(() => {
      this.#retrying = false;
      this.#flush();
      if (this.#kept.length > 0) this.#retryLater();
      else if (this.#lost > 0) this.#tellLoss();
    });
  }
}

const noBytes = Buffer.alloc(0);
const newline = Buffer.from('\n');

/** Lines of a descriptor of this process. */
export function linesOf(fd: 1 | 2, describeLoss: LinesOptions['describeLoss']): LogLines {
  // Asked for once, the stream makes a pipe one that is never waited for; files and terminals stay as they are.
  void (fd === 1 ? process.stdout : process.stderr);
  return new LogLines({
    write: (bytes) => writeSync(fd, bytes),
    later: (retry) => void setTimeout(retry, retryMs).unref(),
    describeLoss,
  });
}
