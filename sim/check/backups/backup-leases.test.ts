import { expect, it } from 'vitest';

import type { LeaseRecord } from '../../evidence/backup-leases.ts';
import { checkLeases } from './backup-leases.ts';

const lease: LeaseRecord = {
  ...{ id: 'f0', node: 'n1', invokedUs: 1_000, heldUs: 3_000, leaseUs: 500_000, lived: true },
  ...{ resumedUs: 502_000, lookedUs: 900_000, lateCut: 409, lateHeld: false },
  next: { status: 200, detail: '' },
};

/** The first reason, or an empty text. */
function complaint(over: Partial<LeaseRecord>): string {
  return checkLeases([{ ...lease, ...over }]).reasons[0] ?? '';
}

it('a node lets its writes go on when the lease ends', () => {
  expect(complaint({})).toBe('');
  expect(complaint({ resumedUs: 100_000 })).toContain('before the lease of f0 ended');
  expect(complaint({ resumedUs: undefined })).toContain('still holds its writes back for f0');
  expect(complaint({ resumedUs: undefined, lived: false })).toBe('');
});

it('after its lease a backup takes no cut, has not held, and keeps no other backup waiting', () => {
  expect(complaint({ lateCut: 200 })).toContain('answered 200 to a cut');
  expect(complaint({ lateHeld: true })).toContain('without a break');
  expect(complaint({ next: { status: 409, detail: 'the backup f0 holds' } })).toContain('refuses the next');
  expect(complaint({ next: { status: 409, detail: 'the backup k1 holds' } })).toBe('');
  expect(complaint({ lateCut: undefined, lateHeld: undefined, next: undefined })).toBe('');
});
