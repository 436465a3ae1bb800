/**
 * From what commands left in their working sets to one atomic batch, and from its outcome to an error or none. Each
 * changed key states what it was computed from, so the batch commits only on top of that: what commands read and what
 * they wrote are one step. A key that was only read is checked in the same step.
 */
import type { ObjectKey } from '../../base/object-key.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { VersionVector } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { Operation, TransactionOutcome } from '../../transactions/formats/outcomes.ts';
import { checkContent } from '../content-limits.ts';
import type { Entry } from './entries.ts';
import { contentOf } from './entries.ts';
import type { RedisDependencies } from './listener-dependencies.ts';

/** The change of one key on top of what was read under it. Throws `TooLarge`. */
export function changeOf(
  { limits }: Pick<RedisDependencies, 'limits'>,
  key: ObjectKey,
  read: StoredObject | undefined,
  entry: Entry | undefined,
): Operation {
  const content = entry === undefined ? tombstone : contentOf(entry);
  checkContent(content, limits);
  return { key, content, ...conditionOn(read) };
}

/** What was read under a key still holds. */
export function checkOf(key: ObjectKey, read: StoredObject | undefined): Operation {
  return { key, content: tombstone, check: true, ...conditionOn(read) };
}

function conditionOn(read: StoredObject | undefined): {
  readonly context: VersionVector | undefined;
  readonly ifMatch: VersionVector | undefined;
  readonly ifAbsent: boolean;
} {
  return { context: read?.context, ifMatch: read?.context, ifAbsent: read === undefined };
}

/**
 * `again`: others changed a key in the meantime, nothing was done. `failed`: the line of the error; unless its word is
 * ABORTED, NOTARGETS, DISKFULL or SHUTTINGDOWN the batch may have been carried out.
 */
export type Ending =
  { readonly kind: 'done' } | { readonly kind: 'again' } | { readonly kind: 'failed'; readonly text: string };

export function endingOf(outcome: TransactionOutcome): Ending {
  switch (outcome.kind) {
    case 'committed':
      if (!outcome.branches.some(({ pending }) => pending)) return { kind: 'done' };
      return {
        kind: 'failed',
        text: 'NOQUORUM it was carried out, but fewer replicas than the level names have confirmed it so far',
      };
    case 'inDoubt':
      return { kind: 'failed', text: `INDOUBT the outcome of ${outcome.xid} is not known yet` };
    case 'aborted':
      if (outcome.reason === 'conflict' || outcome.reason === 'precondition_failed') return { kind: 'again' };
      if (outcome.reason === 'no_targets') return { kind: 'failed', text: `NOTARGETS ${outcome.detail}` };
      if (outcome.reason === 'disk_full') return { kind: 'failed', text: `DISKFULL ${outcome.detail}` };
      return { kind: 'failed', text: `ABORTED ${outcome.reason}: ${outcome.detail}` };
  }
}
