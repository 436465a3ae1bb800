/**
 * `lock-exclusivity` (INV7), locks, from the named steps of transactions. Between a branch's vote and its outcome, no
 * other transaction takes one of its keys on its node. This also holds after a restart of the node, and, after a lost
 * disk or a replacement, before the branch is restored. A disk that has silently lost its newest records promises only
 * the branches that its node finds again. An applied transaction has released no key before it had taken
 * its last one (two-phase locking: Eswaran, Gray, Lorie, Traiger, 1976), whatever a branch had to write. A key of a
 * bucket that was flushed is another key than the one of the same name before the flush.
 */
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import type { TransactionEvidence, TransactionStep } from './transactions.ts';
import { shortened, wiped } from './transactions.ts';

/** The row of `lock-exclusivity`. */
export const lockExclusivityRow = invariant({
  name: 'lock-exclusivity',
  code: 'INV7',
  promise: "one transaction at a time holds a key's lock",
  gravity: 'data',
  breach: 'two transactions write the same key at once, each on what it read before',
  needs: [],
  check: ({ transactions }: TransactionEvidence) =>
    transactions && checkLocks(transactions.steps, transactions.replacements),
});

/** `replacements`: the replacement of each node that died for good. */
export function checkLocks(
  steps: readonly TransactionStep[],
  replacements: ReadonlyMap<string, string> = new Map(),
): CheckReport {
  const tally = new Tally('lock-exclusivity');
  /** Per node and key: the transaction whose branch voted commit there. */
  const held = new Map<string, string>();
  const keysOf = new Map<string, readonly string[]>();
  const places = (node: string, xid: string): readonly string[] =>
    (keysOf.get(`${node} ${xid}`) ?? []).map((key) => `${node} ${key}`);
  const forget = (dead: string, seat: string): void => {
    for (const [place, holder] of [...held]) {
      if (!place.startsWith(`${dead} `)) continue;
      held.delete(place);
      forgotten.lost(`${seat}${place.slice(dead.length)}`, holder);
    }
  };
  /** Replaced nodes by their replacement, until the replacement's first step. */
  const deadOf = new Map([...replacements].map(([dead, replacement]) => [replacement, dead]));
  const phases = new LockPhases(tally);
  const forgotten = new ForgottenLocks(tally);
  for (const event of steps) {
    const { atUs, node, step, xid, fields } = event;
    phases.hear(event);
    const dead = deadOf.get(node);
    if (dead !== undefined) forget(dead, node);
    deadOf.delete(node);
    switch (step) {
      case wiped:
        forget(node, node);
        break;
      case shortened:
        // The node holds again what its start finds: a `p.recovery.scan` each, before it takes any request.
        for (const place of [...held.keys()]) if (place.startsWith(`${node} `)) held.delete(place);
        break;
      case 'p.locks.taken':
      case 'p.recovery.scan': {
        // A branch that a restart finds applied holds no lock, even if a crash prevented its event.
        if (step === 'p.recovery.scan' && fields['phase'] !== 'prepared') {
          for (const place of places(node, xid)) if (held.get(place) === xid) held.delete(place);
          break;
        }
        keysOf.set(`${node} ${xid}`, lockedKeys(fields));
        for (const place of places(node, xid)) {
          forgotten.taken(place, event);
          const holder = held.get(place) ?? xid;
          tally.compare(holder === xid, atUs, () => `${xid} takes ${place}, which ${holder} holds`);
        }
        if (fields['phase'] === 'prepared') for (const place of places(node, xid)) held.set(place, xid);
        break;
      }
      case 'p.vote.sent':
        if (fields['vote'] === 'commit') for (const place of places(node, xid)) held.set(place, xid);
        break;
      case 'p.applied.synced':
      case 'p.locks.released':
      case 'p.decision.recv':
        for (const place of places(node, xid)) if (held.get(place) === xid) held.delete(place);
        break;
    }
  }
  return tally.report();
}

/**
 * The keys that a step names, each with the epoch of its bucket if that was flushed before. A flush begins a new epoch, in
 * which the same name is another key: a branch that voted before may still hold the old one.
 */
function lockedKeys({ keys = '', epochs = '' }: TransactionStep['fields']): readonly string[] {
  const epochOf = String(epochs).split(' ');
  return String(keys)
    .split(' ')
    .map((key, index) => [key, epochOf[index] ?? ''].filter((part) => part !== '' && part !== '0').join('@'));
}

/**
 * Keys whose lock was lost with a disk: another transaction violates the lock if it takes one before the branch does so
 * again.
 */
class ForgottenLocks {
  readonly #tally: Tally;
  /** Per node and key: the holder that had voted, and the transaction that has taken the key since. */
  readonly #places = new Map<string, { readonly holder: string; taker: string | undefined }>();

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  lost(place: string, holder: string): void {
    this.#places.set(place, { holder, taker: undefined });
  }

  taken(place: string, { xid, atUs }: TransactionStep): void {
    const known = this.#places.get(place);
    if (known === undefined) return;
    if (known.holder !== xid) {
      known.taker ??= xid;
      return;
    }
    this.#places.delete(place);
    this.#tally.compare(known.taker === undefined, atUs, () => {
      return `${xid} takes ${place} again, which it had promised and ${known.taker ?? ''} has taken meanwhile`;
    });
  }
}

/** Which transactions have begun to release keys, and which branches took keys afterwards. */
class LockPhases {
  readonly #tally: Tally;
  readonly #shrinking = new Map<string, string>();
  readonly #late = new Map<string, string>();
  /** `n1 n2-…-1`: branches that an operator has decided. */
  readonly #decided = new Set<string>();

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  hear({ atUs, node, step, xid, fields }: TransactionStep): void {
    switch (step) {
      case 'branch.decided':
        this.#decided.add(`${node} ${xid}`);
        break;
      case 'p.locks.released':
        // An operator's decision releases the keys of one branch, whatever the others do.
        if (!this.#decided.has(`${node} ${xid}`) && !this.#shrinking.has(xid)) this.#shrinking.set(xid, node);
        break;
      case 'p.locks.taken': {
        // Locks taken in phase `prepared` belong to a decided branch that is restored after the loss of its disk.
        const first = fields['phase'] === 'prepared' ? undefined : this.#shrinking.get(xid);
        if (first !== undefined) this.#late.set(`${node} ${xid}`, first);
        break;
      }
      case 'p.applied.synced': {
        const first = this.#late.get(`${node} ${xid}`);
        this.#tally.compare(first === undefined, atUs, () => {
          return `${node} took its keys of ${xid} when ${first ?? ''} had let its own go`;
        });
        break;
      }
    }
  }
}
