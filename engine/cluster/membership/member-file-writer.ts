/**
 * Keeps the file of members up with what this node knows. A change of the ring is saved at once (cluster/view/ring-view-publisher.ts); that a
 * configured member has said something of itself changes nothing in the ring, and is saved within a minute. When all
 * nodes lose their power and one does not come back, the others know it by their files, and can tell its replacement what
 * it takes over.
 */
import { asLockstepError } from '../../base/errors.ts';
import type { Io } from '../../io/io.ts';
import type { MemberFile } from './member-file.ts';
import type { MemberRecord } from './member-record.ts';

const lookEveryUs = 60_000_000;

export class MemberFileWriter {
  readonly #io: Pick<Io, 'log' | 'spawn'>;
  readonly #file: Pick<MemberFile, 'depart' | 'lacksOneOf' | 'save'>;
  readonly #records: () => readonly MemberRecord[];
  /** When to look again; undefined before the first beat. */
  #dueUs: number | undefined;
  #saving: Promise<boolean> | undefined;

  /** `records`: every member's word of itself, this node's among them. */
  constructor(
    io: Pick<Io, 'log' | 'spawn'>,
    file: Pick<MemberFile, 'depart' | 'lacksOneOf' | 'save'>,
    records: () => readonly MemberRecord[],
  ) {
    this.#io = io;
    this.#file = file;
    this.#records = records;
  }

  /** What is being saved since a look; undefined when nothing is. */
  get settling(): Promise<unknown> | undefined {
    return this.#saving;
  }

  /** Durable when this resolves with true. */
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

  /** The others know that this node has left. Durable when this resolves, if the disk takes it. */
  async depart(): Promise<void> {
    this.#file.depart();
    await this.save();
  }

  /** Called with every beat. */
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
