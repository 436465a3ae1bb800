/**
 * Writes the log's lines to a descriptor. A node does not depend on its log: a pipe without a reader or a full volume
 * costs lines, never requests.
 *
 * A line is written before `write` returns if the system takes it. Bytes that the system does not take are kept, within
 * a bound, and retried a little later and with the next line. Lost lines are counted, and reported in a line of their
 * own as soon as a line can be written again.
 */
import { writeSync } from 'node:fs';

/** Most bytes kept for a slow reader. */
const keptBytesMax = 256 * 1024;
const retryMs = 100;

/** Error codes that mean: no more bytes now, try later. */
const busyCodes: readonly unknown[] = ['EAGAIN', 'EWOULDBLOCK', 'EINTR'];

/** Writes a prefix of the bytes and returns its length. Throws the system's error. */
export type WriteBytes = (bytes: Uint8Array) => number;

/** The environment of `LogLines`. */
export interface LinesOptions {
  readonly write: WriteBytes;
  /** Calls `retry` after some time; must not keep the process alive. */
  readonly later: (retry: () => void) => void;
  /** Makes the line that reports this many lost lines. */
  readonly describeLoss: (lines: number) => string;
}

/** The lines of one descriptor. */
export class LogLines {
  readonly #options: LinesOptions;
  /** Lines not yet written; of the first one possibly only its end. */
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #lost = 0;
  /** Set if the last byte written ends no line because the rest of that line was lost. */
  #midLine = false;
  #retrying = false;

  constructor(options: LinesOptions) {
    this.#options = options;
  }

  /** Lines lost since the last report. */
  get lost(): number {
    return this.#lost;
  }

  /** Writes a line, which includes its line end. Never throws, never waits. */
  write(line: string): void {
    this.#flush();
    if (this.#kept.length === 0 && this.#lost > 0) this.#reportLoss();
    this.#add(Buffer.from(line));
  }

  #reportLoss(): void {
    const lost = this.#lost;
    this.#lost = 0;
    // If the report itself is lost, it counts as one of the lines of the next report.
    if (!this.#add(Buffer.from(this.#options.describeLoss(lost)))) this.#lost += lost - 1;
  }

  /** Writes or keeps a line; false if it is lost. */
  #add(given: Buffer): boolean {
    const line = this.#midLine && this.#kept.length === 0 ? Buffer.concat([newline, given]) : given;
    const left = this.#kept.length === 0 ? this.#tryWrite(line) : line;
    if (left === undefined) return true;
    // The rest of a begun line must be kept, or the next line would stand in the middle of it.
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

  /** Returns the bytes to retry later; undefined if all are written; empty if they are lost. */
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
      else if (this.#lost > 0) this.#reportLoss();
    });
  }
}

const noBytes = Buffer.alloc(0);
const newline = Buffer.from('\n');

/** The lines of standard output (1) or standard error (2). */
export function linesOf(fd: 1 | 2, describeLoss: LinesOptions['describeLoss']): LogLines {
  // Accessing the stream makes Node set a pipe to non-blocking; files and terminals are unaffected.
  void (fd === 1 ? process.stdout : process.stderr);
  return new LogLines({
    write: (bytes) => writeSync(fd, bytes),
    later: (retry) => void setTimeout(retry, retryMs).unref(),
    describeLoss,
  });
}
