import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../base/errors.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { byteStringFrom, byteStringOf, tokenMax } from '../../base/ids.ts';
import type { Member } from './ring.ts';
import { Ring } from './ring.ts';
import { routeToken, tokenOf, tokensOfNode } from './token.ts';

function member(node: string, datacenter: string, rack: string, tokens?: readonly number[]): Member {
  const own = tokens ?? tokensOfNode(node as NodeId, 16);
  return { node: node as NodeId, datacenter, rack, tokens: own as readonly Token[] };
}

const token = fc.integer({ min: 0, max: tokenMax }) as fc.Arbitrary<Token>;
const clusters = fc
  .array(fc.record({ datacenter: fc.constantFrom('a', 'b'), rack: fc.constantFrom('x', 'y', 'z') }), {
    minLength: 1,
    maxLength: 9,
  })
  .map((places) => places.map((place, index) => member(`n${index}`, place.datacenter, place.rack)));

describe('tokens', () => {
  it("agree with MurmurHash3's published vectors", () => {
    expect(tokenOf(Buffer.from(''))).toBe(0);
    expect(tokenOf(Buffer.from('test'))).toBe(0xba6bd213);
    expect(tokenOf(Buffer.from('Hello, world!'))).toBe(0xc0363e43);
    expect(tokenOf(Buffer.from('The quick brown fox jumps over the lazy dog'))).toBe(0x2e4ff723);
  });

  it('hash bucket/key for STD, and the bucket alone for BUCKETONLY', () => {
    const [bucket, key] = [byteStringOf('büro'), byteStringOf('k')];
    expect(routeToken('STD', bucket, key)).toBe(tokenOf(Buffer.from('büro/k')));
    expect(routeToken('BUCKETONLY', bucket, key)).toBe(tokenOf(Buffer.from('büro')));
  });

  it('of a route are those of its bytes, whatever its length', () => {
    const part = (lengthMax: number): fc.Arbitrary<ByteString> =>
      fc.uint8Array({ minLength: 1, maxLength: lengthMax }).map((bytes) => byteStringFrom(bytes));
    fc.assert(
      fc.property(part(12), fc.oneof(part(20), part(300)), (bucket, key) => {
        const route = Buffer.from(`${bucket}/${key}`, 'latin1');
        expect(routeToken('STD', bucket, key)).toBe(tokenOf(route));
      }),
    );
  });

  it('of a node are distinct, ascending and its own', () => {
    const tokens = tokensOfNode('n1' as NodeId, 256);
    expect(tokens).toHaveLength(256);
    expect(tokens.every((value, index) => index === 0 || value > (tokens[index - 1] ?? Infinity))).toBe(true);
    expect(tokensOfNode('n1' as NodeId, 16)).not.toEqual(tokensOfNode('n2' as NodeId, 16));
  });
});

describe('a ring', () => {
  it('places one replica in every rack, the same whatever the order of the members', () => {
    fc.assert(
      fc.property(clusters, token, (members, at) => {
        const placement = new Ring(members).placement(at);
        const racks = new Set(members.map((one) => `${one.datacenter}/${one.rack}`));
        expect(new Set(placement.map((one) => `${one.datacenter}/${one.rack}`))).toEqual(racks);
        expect(placement).toHaveLength(racks.size);
        expect(new Ring(members.toReversed()).placement(at)).toEqual(placement);
      }),
    );
  });

  it('assigns an arc to the node whose token ends it, as a linear search does', () => {
    fc.assert(
      fc.property(clusters, token, (members, at) => {
        for (const replica of new Ring(members).placement(at)) {
          const rack = members.filter(
            (one) => one.datacenter === replica.datacenter && one.rack === replica.rack,
          );
          const distance = (one: Member): number =>
            Math.min(...one.tokens.map((own) => (own - at + tokenMax + 1) % (tokenMax + 1)));
          expect(distance(replica)).toBe(Math.min(...rack.map(distance)));
        }
      }),
    );
  });

  it('spreads the primaries over the racks', () => {
    const ring = new Ring([member('n1', 'd', 'r1'), member('n2', 'd', 'r2'), member('n3', 'd', 'r3')]);
    const counts = new Map<string, number>();
    for (let index = 0; index < 3000; index++) {
      const primary = ring.placement(tokenOf(Buffer.from(`k${index}`)))[0]?.node ?? '';
      counts.set(primary, (counts.get(primary) ?? 0) + 1);
    }
    for (const count of counts.values()) expect(count).toBeGreaterThan(850);
    expect(counts.size).toBe(3);
  });

  it('reports how much of a rack each node owns', () => {
    const ring = new Ring([
      member('a', 'd', 'r', [10, 30]),
      member('b', 'd', 'r', [15]),
      member('c', 'd', 's', [7]),
    ]);
    const spans = ['a', 'b', 'c', 'x'].map((name) => ring.spanOf(name as NodeId));
    expect(spans).toEqual([2 ** 32 - 5, 5, 2 ** 32, 0]);
  });

  it('refuses two owners of one token in a rack, and allows them in two racks', () => {
    expect(() => new Ring([member('a', 'd', 'r', [5]), member('b', 'd', 'r', [5])])).toThrow(
      /a and b .* token 5/,
    );
    expect(new Ring([member('a', 'd', 'r1', [5]), member('b', 'd', 'r2', [5])]).rackCount('d')).toBe(2);
  });

  it('refuses a name that is given twice, and an empty ring', () => {
    expect(() => new Ring([member('a', 'd', 'r1'), member('a', 'd', 'r2')])).toThrow(LockstepError);
    expect(() => new Ring([])).toThrow(/at least one node/);
  });

  it('describes itself as text', () => {
    const ring = new Ring([member('b', 'd', 'r1'), member('a', 'd', 'r1', [1, 2]), member('c', 'e', 'r9')]);
    expect(ring.describe()).toBe('d/r1: a(2) b(16)\ne/r9: c(16)');
  });

  it('gives the end of adjacent arcs with the same replicas', () => {
    fc.assert(
      fc.property(clusters, token, token, (members, from, other) => {
        const ring = new Ring(members);
        const nodesAt = (at: Token): string =>
          ring
            .placement(at)
            .map(({ node }) => node)
            .sort()
            .join();
        const end = ring.sharedBoundAfter(from);
        const isWithin = (other - from - 1) >>> 0 < ((end - from) >>> 0 || 2 ** 32);
        if (isWithin) expect(nodesAt(other)).toBe(nodesAt(ring.boundAfter(from)));
        else expect(nodesAt(((end + 1) >>> 0) as Token)).not.toBe(nodesAt(end));
      }),
    );
    const racks = ['x', 'y', 'z'].map((rack) => member(rack, 'a', rack));
    expect(new Ring(racks).sharedBoundAfter(7 as Token)).toBe(7);
  });
});
