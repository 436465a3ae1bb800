/** Runs the commands that read one key, without a task or a promise for each. */
import type { ObjectKey } from '../../base/object-key.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import { asLockstepError } from '../../base/errors.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { JoinedRead } from '../../replication/requests.ts';
import type { Watched } from './batches.ts';
import { noOlder } from './batches.ts';
import { entryOf } from './entries.ts';
import type { Edit } from './key-queue.ts';
import { applyCommand } from './key-queue.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import { refusalText } from './refusals.ts';
import type { EndedCommand, Settlement } from './settlement.ts';
import { WorkingKey } from './working-set.ts';

const soon = Promise.resolve();

/** The reads of one listener. */
export class KeyReads {
  readonly parts: RedisDependencies;
  readonly settlement: Settlement;
  /** Reads that were begun in this turn of the event loop: they are made together. */
  #begun: KeyRead[] = [];

  constructor(parts: RedisDependencies, settlement: Settlement) {
    this.parts = parts;
    this.settlement = settlement;
  }

  /**
   * Runs a command that reads one key; it is settled later, never within this call. A key under WATCH is read no older
   * than WATCH saw it: another majority may not have received a write that is still spreading, and EXEC would take the
   * older value for the watched one.
   */
  begin(edit: Edit, key: ObjectKey, watched: readonly Watched[]): void {
    const before = watched.length === 0 ? undefined : watched.find((one) => one.key.packed === key.packed);
    if (this.#begun.push(new KeyRead(this, edit, key, before)) === 1)
      this.parts.io.spawn('redis.read', () => this.#read());
  }

  async #read(): Promise<void> {
    await soon;
    const begun = this.#begun;
    this.#begun = [];
    this.parts.dispatcher.readMany(begun);
  }
}

/** One command. */
class KeyRead implements JoinedRead, EndedCommand {
  readonly key: ObjectKey;
  readonly need = 'default';
  readonly timeoutMs: number;
  readonly times: RequestTimes | undefined;
  readonly #reads: KeyReads;
  readonly #edit: Edit;
  /** What WATCH saw. */
  readonly #before: Watched | undefined;
  #object: StoredObject | undefined;
  #failure: unknown;

  constructor(reads: KeyReads, edit: Edit, key: ObjectKey, before: Watched | undefined) {
    this.key = key;
    this.timeoutMs = reads.parts.timeoutMs;
    this.times = edit.times;
    this.#reads = reads;
    this.#edit = edit;
    this.#before = before;
  }

  answered(object: StoredObject | undefined): void {
    this.#object = object;
    this.#reads.settlement.add(this);
  }

  failed(error: unknown): void {
    this.#failure = error;
    this.#reads.settlement.add(this);
  }

  conclude(): void {
    const edit = this.#edit;
    let failure = this.#failure;
    if (failure === undefined) {
      try {
        edit.settle(this.#reply());
        return;
      } catch (caught) {
        failure = caught;
      }
    }
    const error = asLockstepError(failure);
    edit.fail(error, refusalText(error));
  }

  #reply(): Buffer {
    const { parts } = this.#reads;
    const { io, limits, answerBytesMax, scripts } = parts;
    const { command, request, version } = this.#edit;
    const nowMs = io.clock.wallMs();
    const working = new WorkingKey(entryOf(noOlder(parts, this.#before, this.#object), nowMs));
    const { valueBytesMax } = limits;
    return applyCommand(command, request, working, {
      nowMs,
      version,
      valueBytesMax,
      answerBytesMax,
      scripts,
    });
  }
}
