/**
 * Lets this node hand over a range only once it has fetched what it has lost of it. A record that cannot be read is left
 * out of a transfer, and the new owner does not know of it: its copy would count as one that never had the key, and a
 * quorum could miss an acknowledged write.
 *
 * So the node first reads the range from so many other replicas of its datacenter that one of them has whatever a
 * majority has acknowledged. What none of them has is not waited for. Replicas that cannot be read are waited for no
 * longer than `patienceUs`, since a dead one may be replaced only once the hand-over is over.
 */
import { LockstepError } from '../../base/errors.ts';
import { sometimes } from '../../base/sometimes.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { Membership } from '../membership/membership.ts';
import type { TokenRange } from '../ring/arc.ts';
import type { Member } from '../ring/ring.ts';
import { healingSources } from './arcs.ts';
import type { RangeGuard } from './range-source.ts';
import type { Transfer } from './transfer.ts';

/** What the fetching of lost records works with. */
export interface LostRecordsDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly self: Member;
  readonly membership: Pick<Membership, 'ring' | 'isRoutable'>;
  readonly transfer: Pick<Transfer, 'fetch'>;
  /** What was lost of the range is here again, or no reachable replica has it. */
  readonly fetched: (range: TokenRange) => void;
  /** How many findings of unreadable records the store has made since its start. */
  readonly findings: () => number;
  /** How long replicas that cannot be read are waited for, in microseconds. */
  readonly patienceUs: number;
}

const retryUs = 200_000;

/** Fetches the lost records of one node's ranges from other replicas. */
export class LostRecords implements RangeGuard {
  readonly #parts: LostRecordsDependencies;
  /** Ranges that were fetched, as `17-42`, and how many findings there were before that. */
  readonly #fetched = new Map<string, number>();
  readonly #fetching = new Map<string, Promise<void>>();
  /** Since when a replica has been waited for, for the present number of findings. */
  #waiting: { readonly findings: number; readonly sinceUs: number } | undefined;
  #stopped = false;

  constructor(parts: LostRecordsDependencies) {
    this.#parts = parts;
  }

  /**
   * The range may have lost records. Returns undefined if other replicas have been read since they were found;
   * otherwise the node reads them now, and the error says to ask again.
   */
  check(range: TokenRange): LockstepError | undefined {
    const name = nameOf(range);
    if (this.#fetched.get(name) === this.#parts.findings()) return undefined;
    if (!this.#fetching.has(name) && !this.#stopped) {
      const work = this.#fetch(range).finally(() => this.#fetching.delete(name));
      this.#fetching.set(name, work);
      this.#parts.io.spawn('transfer.lost', () => work);
    }
    const detail = `${this.#parts.self.node} has lost records of this range and fetches them from other replicas; try again`;
    return new LockstepError('Overloaded', detail);
  }

  /** Stops. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.allSettled(this.#fetching.values());
  }

  async #fetch(range: TokenRange): Promise<void> {
    const { io, self, membership, findings } = this.#parts;
    sometimes('ring-change.lost-records-fetched');
    const found = findings();
    const read = new Set<string>();
    for (;;) {
      let missing = 0;
      for (const [source, part] of healingSources(membership.ring, range, self)) {
        const name = `${source.node} ${nameOf(part)}`;
        if (read.has(name)) continue;
        if (membership.isRoutable(source.node) && (await this.#read(source, part))) read.add(name);
        else missing += 1;
        if (this.#stopped) return;
      }
      if (missing > 0 && this.#isPatient()) {
        await sleep(io.clock, retryUs);
        continue;
      }
      const level = missing === 0 ? 'info' : 'error';
      io.log.event(level, 'transfer.lost.fetched', { ...range, reads: read.size, missing });
      this.#parts.fetched(range);
      this.#fetched.set(nameOf(range), found);
      return;
    }
  }

  /** All ranges together wait so long since the last finding. */
  #isPatient(): boolean {
    const { io, findings, patienceUs } = this.#parts;
    const nowUs = io.clock.nowUs();
    if (this.#waiting?.findings !== findings()) this.#waiting = { findings: findings(), sinceUs: nowUs };
    return nowUs - this.#waiting.sinceUs < patienceUs;
  }

  async #read(source: Member, range: TokenRange): Promise<boolean> {
    try {
      return await this.#parts.transfer.fetch(source, range, () => !this.#stopped);
    } catch (error) {
      if (!(error instanceof LockstepError) || error.code === 'Internal') throw error;
      const { code, message: detail } = error;
      this.#parts.io.log.event('warn', 'transfer.range.failed', { ...range, code, detail });
      return false;
    }
  }
}

function nameOf({ from, to }: TokenRange): string {
  return `${from}-${to}`;
}
