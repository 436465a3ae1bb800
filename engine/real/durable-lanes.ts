/**
 * Durable writes to one file: each under way has a descriptor of its own, opened with O_DSYNC and used again. Linux
 * tells an error of writing back once per descriptor, to whoever asks first: two writes that shared one could take
 * each other's (source: fsync(2), and "errseq_t" in the kernel's core API documentation).
 *
 * Descriptors that are not in use are few for all files together (`IdleLanes`): a file that is written no more, as the
 * store's sealed segments are, would keep its own for as long as it is open.
 *
 * A file that was renamed or removed is not found by its path any more: its durable writes are a write and an
 * fdatasync on the descriptor there is, one after another.
 */
import fs from 'node:fs';

export type Written = (error: NodeJS.ErrnoException | null, bytes: number) => void;

interface Waiting {
  readonly chunks: readonly Uint8Array[];
  readonly offset: number;
  readonly done: Written;
}

/** Descriptors not in use that all files of a disk may keep. */
const idleMax = 16;

/** Counts them, and gives up those of the file that has waited longest. */
export class IdleLanes {
  /** Who keeps some; who was written last is last. */
  readonly #keepers = new Set<DurableLanes>();
  #count = 0;

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

  /** `left`: so many does the file keep now. */
  taken(by: DurableLanes, count: number, left: number): void {
    this.#count -= count;
    if (left === 0) this.#keepers.delete(by);
  }
}

export class DurableLanes {
  readonly #path: string;
  readonly #fd: number;
  readonly #allIdle: IdleLanes;
  readonly #idle: number[] = [];
  /** The path does not lead to the file: there are no lanes. */
  #lost = false;
  /** Writes that go through the file's own descriptor, the first of them under way. */
  readonly #single: Waiting[] = [];

  /** `fd` is the file's own descriptor; it stays the caller's. */
  constructor(path: string, fd: number, allIdle: IdleLanes) {
    this.#path = path;
    this.#fd = fd;
    this.#allIdle = allIdle;
  }

  /** Writes a prefix of `chunks` (at least one) at `offset`; `done` is called when it is durable. */
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

  /** Gives the lanes up; nothing is under way, and the file is closed next. */
  close(): void {
    const count = this.#idle.length;
    for (const lane of this.#idle) fs.close(lane, ignore);
    this.#idle.length = 0;
    this.#allIdle.taken(this, count, 0);
  }

  /** For `IdleLanes`. */
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
        this.#lost = true;
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

function ignore(): void {
  // A lane holds nothing back: every write through it was durable when it was answered.
}
