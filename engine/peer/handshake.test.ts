import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeId } from '../base/ids.ts';
import type { Random } from '../io/random.ts';
import type { Hello } from './wire/messages.ts';
import { backoffDelayUs } from './backoff.ts';
import { checkHello } from './handshake.ts';
import { commonVersion } from './wire/versions.ts';
import type { PeerTarget } from './options.ts';
import { PendingPool } from './pending.ts';

const ours: Hello = {
  clusterId: 'orchard',
  node: 'n1' as NodeId,
  datacenter: 'dc1',
  rack: 'r1',
  tokens: [],
  epoch: '00000000000a',
  generation: 1,
  joining: false,
  version: '0.1.0',
  messages: { min: 3, max: 4 },
};
const theirs: Hello = { ...ours, node: 'n2' as NodeId, rack: 'r2' };
const known: PeerTarget = { node: theirs.node, address: 'n2:1', datacenter: 'dc1', rack: 'r2', index: 1 };

describe('the handshake', () => {
  test('accepts the peer that it called, and any other node of the cluster that calls', () => {
    expect(checkHello(ours, theirs, known)).toBeUndefined();
    expect(checkHello(ours, theirs, undefined)).toBeUndefined();
  });

  test.each([
    ['cluster', { ...theirs, clusterId: 'other' }, known, 'cluster id "other"; this is "orchard"'],
    ['identity', { ...theirs, node: ours.node }, undefined, "node n1 has this node's own name"],
    ['identity', { ...theirs, node: 'n3' as NodeId }, known, 'node n3 answers where node n2 should be'],
  ] as const)('refuses (%s) and says what was expected', (reason, hello, called, detail) => {
    expect(checkHello(ours, hello, called)).toEqual({ kind: 'refusal', reason, detail });
  });

  test.each([
    [{ min: 3, max: 4 }, { min: 3, max: 3 }, 3],
    [{ min: 3, max: 4 }, { min: 4, max: 5 }, 4],
    [{ min: 3, max: 4 }, { min: 3, max: 4 }, 4],
    [{ min: 3, max: 4 }, { min: 5, max: 6 }, undefined],
    [{ min: 4, max: 4 }, { min: 3, max: 3 }, undefined],
  ])('of the versions %j and %j a connection speaks %s', (here, there, spoken) => {
    expect(commonVersion(here, there)).toBe(spoken);
    expect(commonVersion(there, here)).toBe(spoken);
    const refusal = checkHello({ ...ours, messages: here }, { ...theirs, messages: there }, known);
    expect(refusal === undefined).toBe(spoken !== undefined);
  });

  test('a peer without a common version is told what both speak', () => {
    const later = { ...theirs, version: '0.3.0', messages: { min: 5, max: 6 } };
    expect(checkHello(ours, later, known)).toEqual({
      kind: 'refusal',
      reason: 'version',
      detail:
        'node n2 (0.3.0) speaks versions 5 to 6 of peer messages; node n1 (0.1.0) speaks versions 3 to 4',
    });
  });

  test('refuses another cluster before it checks anything else', () => {
    const stranger = { ...theirs, clusterId: 'other', node: ours.node };
    expect(checkHello(ours, stranger, known)?.reason).toBe('cluster');
  });
});

describe('the backoff', () => {
  const drawing = (share: number): Pick<Random, 'below'> => ({
    below: (bound) => Math.min(bound - 1, Math.floor(bound * share)),
  });

  test('doubles up to its limit, less a random part of at most half', () => {
    const limits = { minUs: 1000, maxUs: 60_000 };
    fc.assert(
      fc.property(fc.nat(40), fc.double({ min: 0, max: 1, noNaN: true }), (failures, share) => {
        const full = Math.min(limits.maxUs, limits.minUs * 2 ** failures);
        const delay = backoffDelayUs(limits, failures, drawing(share) as Random);
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(full / 2));
        expect(delay).toBeLessThanOrEqual(full);
      }),
    );
  });
});

describe('the pool of request records', () => {
  test('counts records that exist and that are free, and reuses them', () => {
    const pool = new PendingPool();
    const taken = [pool.take(), pool.take(), pool.take()];
    expect([pool.allocated, pool.free]).toEqual([3, 0]);
    for (const pending of taken) pool.give(pending);
    expect([pool.allocated, pool.free]).toEqual([3, 3]);
    expect(taken).toContain(pool.take());
    expect([pool.allocated, pool.free]).toEqual([3, 2]);
  });

  test('refuses a record that is given back twice', () => {
    const pool = new PendingPool();
    const pending = pool.take();
    pool.give(pending);
    expect(() => pool.give(pending)).toThrow('given back once');
  });
});
