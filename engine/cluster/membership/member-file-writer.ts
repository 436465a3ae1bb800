/**
 * Keeps the member file up to date. A change of the ring is saved at once (cluster/view/ring-view-publisher.ts). The
 * first record of a configured member changes nothing in the ring, and is saved as soon as it is known. So a node that
 * restarts knows by its file which incarnation of each member it has met, and refuses a process with that member's name
 * and an empty disk. And if all nodes lose power and one does not come back, the others can tell its replacement which
 * tokens it takes over.
 */
import { asLockstepError } from '../../base/errors.ts';
import type { Io } from '../../io/io.ts';
import type { MemberFile } from './member-file.ts';
import type { MemberRecord } from './member-record.ts';

/** Time between a failed save and the next. */
const retryUs = 1_000_000;

/** Writes one node's member file. */
export class MemberFileWriter {
  readonly #io: Pick<Io, 'log' | 'spawn'>;
  readonly #file: Pick<MemberFile, 'depart' | 'lacksOneOf' | 'save'>;
  readonly #records: () => readonly MemberRecord[];
  /** No earlier than this, on the monotonic clock. */
  #dueUs = 0;
  #saving: Promise<boolean> | undefined;
  /** The save that was begun last. */
  #last: Promise<unknown> = Promise.resolve();

  /** `records`: every member's record, including this node's. */
  constructor(
    io: Pick<Io, 'log' | 'spawn'>,
    file: Pick<MemberFile, 'depart' | 'lacksOneOf' | 'save'>,
    records: () => readonly MemberRecord[],
  ) {
    this.#io = io;
    this.#file = file;
    this.#records = records;
  }

  /** Resolves when no save is under way. Never rejects. */
  async idle(): Promise<void> {
    let seen: Promise<unknown> | undefined;
    while (seen !== this.#last || this.#saving !== undefined) {
      seen = this.#last;
      await Promise.all([this.#saving, seen]);
    }
  }

  /** Saves all records. Resolves with true once they are durable, with false if the disk failed. Never rejects. */
  save(): Promise<boolean> {
    const saved = this.#save();
    this.#last = saved;
    return saved;
  }

  async #save(): Promise<boolean> {
    try {
      await this.#file.save(this.#records());
      return true;
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      this.#io.log.event('error', 'membership.members.unsaved', { code, detail });
      return false;
    }
  }

  /**
   * Saves a step that `records` contains until `end` is called: with true if it is durable and `stands` still returns
   * true. Otherwise takes it back from the file, from which a start would go on with it. Resolves with what `end` got.
   */
  async saveStep(stands: () => boolean, end: (taken: boolean) => void): Promise<boolean> {
    const saved = await this.save();
    const taken = saved && stands();
    end(taken);
    if (saved && !taken) await this.save();
    return taken;
  }

  /** Saves that the other members know that this node has left. Resolves when that is durable, or the disk failed. */
  async depart(): Promise<void> {
    this.#file.depart();
    await this.save();
  }

  /**
   * Called when a member's incarnation becomes known, and with every heartbeat: saves if the file lacks a member; after a
   * failure not again for a second.
   */
  look(nowUs: number): void {
    if (this.#saving !== undefined || nowUs < this.#dueUs) return;
    if (!this.#file.lacksOneOf(this.#records())) return;
    this.#saving = this.#catchUp();
    this.#io.spawn('membership.remember', async () => {
      if ((await this.#saving) === false) this.#dueUs = nowUs + retryUs;
      this.#saving = undefined;
    });
  }

  /** Saves until the file names all members, those too that become known meanwhile. False: the disk failed. */
  async #catchUp(): Promise<boolean> {
    while (this.#file.lacksOneOf(this.#records())) if (!(await this.save())) return false;
    return true;
  }
}
