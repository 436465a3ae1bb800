/**
 * Turns what commands left in their working sets into one atomic batch, and the batch's outcome into an error or none.
 * Each change states the context that it was computed from, so the batch commits only if the key is unchanged. Reading
 * and writing are thus one step. Keys that were only read are checked in the same step.
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

/** The change of one key, conditional on what was read. Throws `TooLarge`. */
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

/** The check that a key is still what was read. */
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
 * The end of one attempt. `again`: another client changed a key meanwhile, and nothing was done. `failed`: the line of
 * the error. Unless it begins with ABORTED, NOTARGETS, DISKFULL or SHUTTINGDOWN, the batch may have been applied.
 */
export type Ending =
  { readonly kind: 'done' } | { readonly kind: 'again' } | { readonly kind: 'failed'; readonly text: string };

/** The end that a transaction's outcome stands for. */
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
