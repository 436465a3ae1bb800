/**
 * Performs durable writes to one file. Each concurrent write has a descriptor of its own (a lane), opened with O_DSYNC
 * and reused. Linux reports a write-back error once per descriptor, to the first caller that asks: two writes sharing a
 * descriptor could take each other's error. Source: fsync(2), and "errseq_t" in the kernel's core API documentation.
 *
 * The idle descriptors of all files together are few (`IdleLanes`). Otherwise a file that is no longer written, such as
 * a sealed segment of the store, would keep its lanes for as long as it is open.
 *
 * A file that was renamed or removed can no longer be opened by its path. Its durable writes are a write and an
 * fdatasync on the file's own descriptor, one after another. So is a durable write for which no descriptor is free.
 */
import fs from 'node:fs';

/** Callback of a durable write: the system's error, or the bytes written. */
export type Written = (error: NodeJS.ErrnoException | null, bytes: number) => void;

interface Waiting {
  readonly chunks: readonly Uint8Array[];
  readonly offset: number;
  readonly done: Written;
}

/** Most idle descriptors that all files of a disk may keep. */
const idleMax = 16;

/** Counts the idle descriptors of a disk; above the limit it closes one of the file that was written longest ago. */
export class IdleLanes {
  /** Files with idle lanes, the most recently written last. */
  readonly #keepers = new Set<DurableLanes>();
  #count = 0;

  /** `by` has one idle lane more. */
  kept(by: DurableLanes): void {
    this.#keepers.delete(by);
    this.#keepers.add(by);
    this.#count += 1;
    if (this.#count <= idleMax) return;
    for (const longest of this.#keepers) {
      longest.giveUpOne();
      return;
    }
  }

  /** `by` has `count` idle lanes less, and `left` still. */
  taken(by: DurableLanes, count: number, left: number): void {
    this.#count -= count;
    if (left === 0) this.#keepers.delete(by);
  }
}

/** The lanes of one file. */
export class DurableLanes {
  readonly #path: string;
  readonly #fd: number;
  readonly #allIdle: IdleLanes;
  readonly #idle: number[] = [];
  /** Set if the path no longer leads to the file; no lane can then be opened. */
  #lost = false;
  /** Writes through the file's own descriptor; the first one is under way. */
  readonly #single: Waiting[] = [];

  /** `fd` is the file's own descriptor; the caller keeps it open and closes it. */
  constructor(path: string, fd: number, allIdle: IdleLanes) {
    this.#path = path;
    this.#fd = fd;
    this.#allIdle = allIdle;
  }

  /** Writes a prefix of `chunks` (at least one chunk) at `offset`. Calls `done` when it is durable. */
  write(chunks: readonly Uint8Array[], offset: number, done: Written): void {
    const lane = this.#take();
    if (lane !== undefined) this.#writeIn(lane, chunks, offset, done);
    else if (this.#lost) this.#writeSingly({ chunks, offset, done });
    else
      this.#openLane((opened) => {
        if (opened === undefined) this.#writeSingly({ chunks, offset, done });
        else this.#writeIn(opened, chunks, offset, done);
      });
  }

  /** Closes the lanes. The caller has no write under way and closes the file next. */
  close(): void {
    const count = this.#idle.length;
    for (const lane of this.#idle) fs.close(lane, ignore);
    this.#idle.length = 0;
    this.#allIdle.taken(this, count, 0);
  }

  /** Closes one idle lane; called by `IdleLanes`. */
  giveUpOne(): void {
    const lane = this.#take();
    if (lane !== undefined) fs.close(lane, ignore);
  }

  #take(): number | undefined {
    const lane = this.#idle.pop();
    if (lane !== undefined) this.#allIdle.taken(this, 1, this.#idle.length);
    return lane;
  }

  #writeIn(lane: number, chunks: readonly Uint8Array[], offset: number, done: Written): void {
    const finish: Written = (error, bytes) => {
      this.#idle.push(lane);
      this.#allIdle.kept(this);
      done(error, bytes);
    };
    const [first] = chunks;
    if (chunks.length === 1 && first !== undefined) fs.write(lane, first, 0, first.length, offset, finish);
    else fs.writev(lane, chunks, offset, finish);
  }

  #openLane(then: (lane: number | undefined) => void): void {
    fs.open(this.#path, fs.constants.O_WRONLY | fs.constants.O_DSYNC, (error, lane) => {
      if (error !== null) {
        this.#lost ||= !isShortage(error);
        then(undefined);
        return;
      }
      this.#isSameFile(lane, (same) => {
        if (!same) {
          this.#lost = true;
          fs.close(lane, ignore);
        }
        then(same ? lane : undefined);
      });
    });
  }

  #isSameFile(lane: number, then: (same: boolean) => void): void {
    fs.fstat(this.#fd, { bigint: true }, (error, own) => {
      if (error !== null) then(false);
      else {
        fs.fstat(lane, { bigint: true }, (failed, other) =>
          then(failed === null && own.ino === other.ino && own.dev === other.dev),
        );
      }
    });
  }

  #writeSingly(waiting: Waiting): void {
    this.#single.push(waiting);
    if (this.#single.length === 1) this.#writeNext(waiting);
  }

  #writeNext({ chunks, offset, done }: Waiting): void {
    const finish: Written = (error, bytes) => {
      this.#single.shift();
      const [next] = this.#single;
      if (next !== undefined) this.#writeNext(next);
      done(error, bytes);
    };
    fs.writev(this.#fd, chunks, offset, (error, bytes) => {
      if (error !== null) finish(error, 0);
      else fs.fdatasync(this.#fd, (failed) => finish(failed, bytes));
    });
  }
}

/** Whether the process, or the machine, has no descriptor free: it may have one for the next write. */
function isShortage({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EMFILE' || code === 'ENFILE';
}

function ignore(): void {
  // Closing a lane loses nothing: every write through it was durable when `done` was called.
}
