/** Parses the setting of when a write counts as stored. */
import type { ValueKind } from './values.ts';
import { plain } from './values.ts';

/** When a write counts as stored: after the sync that covers it, or up to `intervalMs` milliseconds before it. */
export type SyncMode =
  { readonly kind: 'always' } | { readonly kind: 'interval'; readonly intervalMs: number };

/** `always`, or the interval in milliseconds. */
export const syncMode: ValueKind<SyncMode> = plain(
  'always, or a whole number of ms from 1 to 60000',
  (given): { value: SyncMode } | undefined => {
    if (given === 'always') return { value: { kind: 'always' } };
    if (typeof given !== 'number' || !Number.isInteger(given) || given < 1 || given > 60_000)
      return undefined;
    return { value: { kind: 'interval', intervalMs: given } };
  },
);
