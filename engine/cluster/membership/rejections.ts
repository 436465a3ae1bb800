/**
 * Counts what gossip brought and the member table refused. Logs it once for each incarnation of a node and reason, so
 * that a node that keeps trying does not fill the log.
 */
import type { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Io } from '../../io/io.ts';
import type { MembershipObserver } from './observer.ts';
import type { MemberRecord } from './member-record.ts';
import type { RefusalReason } from './table.ts';

const loggedMax = 1000;

/** The refused records of one node. */
export class Rejections {
  readonly #log: Io['log'];
  readonly #observer: Pick<MembershipObserver, 'refused'>;
  readonly #logged = new Set<string>();

  constructor(log: Io['log'], observer: Pick<MembershipObserver, 'refused'>) {
    this.#log = log;
    this.#observer = observer;
  }

  /** Counts a refused record, and logs it if that is new. */
  refused({ node, generation, epoch }: MemberRecord, reason: RefusalReason): void {
    sometimes('membership.record-refused');
    this.#observer.refused(reason);
    const name = `${node} ${generation} ${epoch} ${reason}`;
    if (this.#logged.has(name)) return;
    if (this.#logged.size >= loggedMax) this.#logged.clear();
    this.#logged.add(name);
    this.#log.event('warn', 'membership.record.refused', { peer: node, generation, epoch, reason });
  }

  /** Counts and logs a gossip message that does not decode. */
  malformed(from: NodeId, { message: detail }: LockstepError): void {
    this.#observer.refused('malformed');
    this.#log.event('warn', 'membership.gossip.rejected', { peer: from, detail });
  }
}
