import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { IdempotencyKeys } from './idempotency-keys.ts';
import type { NamedRecord } from '../formats/idempotency-records.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import type { PrepareRequest } from '../formats/messages.ts';

const xid = makeXid('n1' as NodeId, '0123456789ab', 7);
const digest = 'd' as ByteString;

function nameOf(index: number, tokens: readonly number[], sinceMs = 100): NamedRecord {
  return { clientId: `c${index}`, xid, digest, sinceMs, tokens: tokens as readonly Token[] };
}

function orderOf(clientId: string, clientDigest = digest): PrepareRequest {
  const order = { coordinator: 'n2' as NodeId, level: 'DC_QUORUM' as const, branches: [], operations: [] };
  return { ...order, clientId, clientDigest };
}

describe('idempotency keys', () => {
  it('answer a retry with the first transaction, and refuse other operations', () => {
    const names = new IdempotencyKeys(10);
    names.enter(nameOf(1, [5]));
    expect(names.standsAgainst(orderOf('c1'), [])).toMatchObject({
      vote: 'abort',
      earlier: { xid, state: 'committed' },
    });
    const other = names.standsAgainst(orderOf('c1', 'e' as ByteString), []);
    expect(other).toMatchObject({ vote: 'abort', reason: 'conflict', earlier: undefined });
    expect(names.standsAgainst(orderOf('c2'), [])).toBe(undefined);
    expect(names.standsAgainst(orderOf('c2'), [{ xid, order: orderOf('c2') }])).toMatchObject({
      earlier: { state: 'undecided' },
    });
  });

  it('come page by page for a range, each once, and records without tokens come with every range', () => {
    const records = fc.array(fc.array(fc.nat({ max: 9 }), { maxLength: 3 }), { maxLength: 30 });
    fc.assert(
      fc.property(records, fc.nat({ max: 9 }), fc.nat({ max: 400 }), (all, below, bytesMax) => {
        const names = new IdempotencyKeys(100);
        for (const [index, tokens] of all.entries()) names.enter(nameOf(index, tokens));
        const found: string[] = [];
        for (let after = '', more = true; more;) {
          const page = names.page((token) => token < below, after, Math.max(1, bytesMax));
          found.push(...page.names.map(({ clientId }) => clientId));
          after = found.at(-1) ?? '';
          more = page.more;
        }
        const wanted = all.flatMap((tokens, index) => {
          return tokens.some((token) => token < below) ? [`c${index}`] : [];
        });
        expect(found).toEqual(wanted);
      }),
    );
  });

  it('come to the last of a walk, whatever is dropped and used again meanwhile', () => {
    const names = new IdempotencyKeys(100);
    for (let index = 0; index < 6; index++) names.enter(nameOf(index, [1], index < 3 ? 50 : 100));
    const first = names.page(() => true, '', 1);
    expect(first).toMatchObject({ names: [{ clientId: 'c0' }], more: true });
    const second = names.page(() => true, 'c0', 1);
    expect(second).toMatchObject({ names: [{ clientId: 'c1' }], more: true });
    expect(names.forgetOlder(50, 10)).toEqual(['c0', 'c1', 'c2']);
    names.enter(nameOf(1, [1], 200));
    const rest = names.page(() => true, 'c1', 1000);
    expect(rest.names.map(({ clientId }) => clientId)).toEqual(['c3', 'c4', 'c5', 'c1']);
    expect(rest.more).toBe(false);
  });

  it('are dropped in the sequence of their age, though a key that had one is used again', () => {
    const names = new IdempotencyKeys(10);
    for (const index of [1, 2]) names.enter(nameOf(index, [1], 50));
    names.enter(nameOf(1, [1], 200));
    names.enter(nameOf(3, [1], 300));
    expect(names.hasOlder(100)).toBe(true);
    expect(names.forgetOlder(100, 10)).toEqual(['c2']);
    expect(names.forgetOlder(200, 10)).toEqual(['c1']);
  });

  it('are dropped by age, whichever node reported them', () => {
    const names = new IdempotencyKeys(10);
    names.enter(nameOf(1, [1], 100));
    names.enter(nameOf(2, [1], 50));
    names.enter(nameOf(3, [1], 300));
    expect(names.get('c2', 60)).toBe(undefined);
    expect(names.hasOlder(99)).toBe(false);
    expect(names.forgetOlder(100, 10)).toEqual(['c1', 'c2']);
    expect(names.get('c3', 100)).toMatchObject({ clientId: 'c3' });
  });
});
