/**
 * Keeps the member file up to date. A change of the ring is saved at once (cluster/view/ring-view-publisher.ts). The
 * first record of a configured member changes nothing in the ring, and is saved within a minute. So if all nodes lose
 * power and one does not come back, the others know it by their files. They can then tell its replacement which tokens
 * it takes over.
 */
import { asLockstepError } from '../../base/errors.ts';
import type { Io } from '../../io/io.ts';
import type { MemberFile } from './member-file.ts';
import type { MemberRecord } from './member-record.ts';

const lookEveryUs = 60_000_000;

/** Writes one node's member file. */
export class MemberFileWriter {
  readonly #io: Pick<Io, 'log' | 'spawn'>;
  readonly #file: Pick<MemberFile, 'depart' | 'lacksOneOf' | 'save'>;
  readonly #records: () => readonly MemberRecord[];
  /** When to check again; undefined before the first heartbeat. */
  #dueUs: number | undefined;
  #saving: Promise<boolean> | undefined;

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

  /** The save that `look` has started; undefined if none is under way. */
  get settling(): Promise<unknown> | undefined {
    return this.#saving;
  }

  /** Saves all records. Resolves with true once they are durable, with false if the disk failed. Never rejects. */
  async save(): Promise<boolean> {
    try {
      await this.#file.save(this.#records());
      return true;
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      this.#io.log.event('error', 'membership.members.unsaved', { code, detail });
      return false;
    }
  }

  /** Saves that the other members know that this node has left. Resolves when that is durable, or the disk failed. */
  async depart(): Promise<void> {
    this.#file.depart();
    await this.save();
  }

  /** Called with every heartbeat: once a minute it saves if the file lacks a member. */
  look(nowUs: number): void {
    this.#dueUs ??= nowUs + lookEveryUs;
    if (nowUs < this.#dueUs) return;
    this.#dueUs = nowUs + lookEveryUs;
    if (this.#saving !== undefined || !this.#file.lacksOneOf(this.#records())) return;
    this.#io.spawn('membership.remember', async () => {
      this.#saving = this.save();
      await this.#saving;
      this.#saving = undefined;
    });
  }
}
