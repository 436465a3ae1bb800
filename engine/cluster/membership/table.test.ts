import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { Detector, detectorDefaults } from './detector.ts';
import { decodeGossip, encodeGossip, GossipCodec } from './gossip-codec.ts';
import { gossipMembersMax } from './gossip-reader.ts';
import { recordType, wordsType } from './gossip-schema.ts';
import type { PeerState } from './states.ts';
import { isLegalMove } from './states.ts';
import type { MemberRecord } from './member-record.ts';
import type { Applied, RefusalReason } from './table.ts';
import { MemberTable } from './table.ts';

function recordOf(name: string, more: Partial<MemberRecord> = {}): MemberRecord {
  const token = (parseInt(name.slice(1), 10) * 1000) as Token;
  return {
    node: name as NodeId,
    generation: 1,
    version: 1,
    epoch: `e-${name}`,
    state: 'NORMAL',
    move: 'none',
    joined: undefined,
    replaces: undefined,
    supersedes: undefined,
    left: false,
    away: false,
    address: `${name}:8101`,
    datacenter: 'dc1',
    rack: 'r1',
    tokens: [token],
    ...more,
  };
}

function node(name: string): NodeId {
  return name as NodeId;
}

function refused(reason: RefusalReason): Applied {
  return { kind: 'refused', reason };
}

interface Seen {
  readonly table: MemberTable;
  readonly moves: string[];
}

function tableOf(name: string, more: Partial<MemberRecord> = {}): Seen {
  const moves: string[] = [];
  const listener = (node: NodeId, from: PeerState, to: PeerState): void => {
    expect(isLegalMove(from, to)).toBe(true);
    moves.push(`${node} ${from}>${to}`);
  };
  return {
    table: new MemberTable(recordOf(name, more), () => new Detector(detectorDefaults), listener),
    moves,
  };
}

/** Applies a record that its own node has sent. */
function hear(table: MemberTable, record: MemberRecord, nowUs = 0): Applied {
  return table.apply(record, record.node, nowUs);
}

const applied = { kind: 'applied', newLife: false, moved: false, ringChanged: false };

describe('a member table that is full', () => {
  const peers = gossipMembersMax - 1;

  function full(left: readonly string[], mayForget: boolean): MemberTable {
    const made = new MemberTable(
      recordOf('n1'),
      () => new Detector(detectorDefaults),
      () => undefined,
      () => mayForget,
    );
    for (let number = 2; number < 2 + peers; number++) {
      const name = `n${number}`;
      hear(made, recordOf(name, { left: left.includes(name), generation: 5000 - number }));
    }
    return made;
  }

  it('refuses further nodes, so that its messages and its file can still be read', () => {
    for (const [left, mayForget] of [
      [[], true],
      [['n7'], false],
    ] as const) {
      const table = full(left, mayForget);
      expect(table.hasRoom).toBe(false);
      expect(hear(table, recordOf('n2000'))).toEqual(refused('full'));
      const records = [table.self, ...table.peers()];
      expect(decodeGossip(encodeGossip({ digest: table.digest(), records, view: '-' })).records.length).toBe(
        gossipMembersMax,
      );
      expect(hear(table, recordOf('n3', { generation: 5000 })).kind).toBe('applied');
    }
  });

  it('forgets of the nodes that have left the one of the oldest incarnation', () => {
    const table = full(['n7', 'n20', 'n15'], true);
    expect(table.hasRoom).toBe(true);
    expect(hear(table, recordOf('n2000')).kind).toBe('applied');
    expect(table.record(node('n20'))).toBeUndefined();
    expect(table.record(node('n15'))?.left).toBe(true);
    expect(table.opinion(node('n2000'))).toBe('NORMAL');
    expect(table.digest().length).toBe(gossipMembersMax);
    expect(table.newerThan(table.digest())).toEqual([]);
    const without = table.digest().filter((entry) => entry.node !== node('n2000'));
    expect(table.newerThan(without)).toEqual([recordOf('n2000')]);
  });

  it('does not take back what another node still knows to have left', () => {
    const table = full(['n7', 'n20'], true);
    hear(table, recordOf('n2000'));
    expect(table.apply(recordOf('n20', { left: true, generation: 4980 }), node('n3'), 0).kind).toBe('old');
    expect(table.record(node('n7'))?.left).toBe(true);
    expect(table.record(node('n2000'))?.state).toBe('NORMAL');
  });
});

describe('a member table', () => {
  it('accepts the newer record, by generation and then version, and calls the others old', () => {
    const { table, moves } = tableOf('n1');
    expect(hear(table, recordOf('n2'))).toEqual({
      ...applied,
      newLife: true,
      moved: true,
      ringChanged: true,
    });
    expect(hear(table, recordOf('n2')).kind).toBe('old');
    expect(hear(table, recordOf('n2', { version: 5 }))).toEqual(applied);
    expect(hear(table, recordOf('n2', { version: 6, address: 'x:1' }))).toEqual({ ...applied, moved: true });
    expect(hear(table, recordOf('n2', { generation: 2, epoch: 'other' }))).toMatchObject({ newLife: true });
    expect(moves).toEqual(['n2 UNKNOWN>NORMAL', 'n2 NORMAL>RESET', 'n2 RESET>NORMAL']);
  });

  it('refuses a record that an earlier incarnation sends of itself, and ignores one that others send of it', () => {
    const { table } = tableOf('n1');
    hear(table, recordOf('n2', { generation: 2, epoch: 'other' }));
    const late = recordOf('n2', { version: 99 });
    expect(hear(table, late)).toEqual({ kind: 'refused', reason: 'oldLife' });
    expect(table.apply(late, node('n3'), 0)).toEqual({ kind: 'old' });
  });

  it('treats a greater generation with the same epoch as the same incarnation', () => {
    const { table, moves } = tableOf('n1');
    hear(table, recordOf('n2'));
    expect(hear(table, recordOf('n2', { generation: 9 }))).toEqual(applied);
    expect(moves).toEqual(['n2 UNKNOWN>NORMAL']);
  });

  it('refuses a second process with one name, a token that is taken in the rack, and its own name', () => {
    const { table } = tableOf('n1');
    hear(table, recordOf('n2'));
    expect(hear(table, recordOf('n2', { version: 9, epoch: 'twin' }))).toEqual(refused('sameName'));
    expect(hear(table, recordOf('n3', { tokens: [2000 as Token] }))).toEqual(refused('duplicateToken'));
    expect(hear(table, recordOf('n3', { tokens: [2000 as Token], rack: 'r2' })).kind).toBe('applied');
    expect(hear(table, recordOf('n1', { generation: 9, epoch: 'twin' }))).toEqual(refused('sameName'));
    expect(hear(table, recordOf('n1', { generation: 0, epoch: 'past' })).kind).toBe('old');
  });

  it('refuses a member with another location or other tokens than before, unless it left in between', () => {
    const { table } = tableOf('n1');
    hear(table, recordOf('n2'));
    expect(hear(table, recordOf('n2', { version: 2, rack: 'r2' }))).toEqual(refused('location'));
    expect(hear(table, recordOf('n2', { version: 2, tokens: [5 as Token] }))).toEqual(refused('tokens'));
    hear(table, recordOf('n2', { version: 3, left: true }));
    const back = { generation: 2, epoch: 'back', rack: 'r2', tokens: [5 as Token] };
    expect(hear(table, recordOf('n2', back)).kind).toBe('applied');
  });

  it('trusts the record of a peer about its tokens more than the configuration', () => {
    const { table } = tableOf('n1');
    table.expect(recordOf('n2', { generation: 0, version: 0, epoch: '', tokens: [7 as Token] }));
    expect(table.opinion(node('n2'))).toBe('UNKNOWN');
    expect(hear(table, recordOf('n2', { rack: 'r2' }))).toEqual(refused('location'));
    expect(hear(table, recordOf('n2'))).toMatchObject({ ringChanged: true, newLife: true });
    expect(table.record(node('n2'))?.tokens).toEqual([2000]);
  });

  it('judges a silent peer DOWN, and NORMAL again at its next heartbeat', () => {
    const { table, moves } = tableOf('n1');
    for (let second = 1; second <= 10; second++)
      hear(table, recordOf('n2', { version: second }), second * 1_000_000);
    expect(table.judge(19_000_000)).toEqual([]);
    // Beyond half of what is tolerated: gossip asks it.
    expect(table.judge(20_000_000)).toEqual(['n2']);
    table.judge(25_000_000);
    expect(table.opinion(node('n2'))).toBe('NORMAL');
    expect(table.judge(29_000_000)).toEqual([]);
    expect(table.isRoutable(node('n2'))).toBe(false);
    hear(table, recordOf('n2', { version: 30 }), 30_000_000);
    expect(moves).toEqual(['n2 UNKNOWN>NORMAL', 'n2 NORMAL>DOWN', 'n2 DOWN>NORMAL']);
  });

  it('judges a peer DOWN that was heard once and never again, and no peer that was never heard', () => {
    const { table } = tableOf('n1');
    table.expect(recordOf('n3', { generation: 0, version: 0, epoch: '' }));
    hear(table, recordOf('n2'), 1_000_000);
    table.judge(19_000_000);
    expect(table.opinion(node('n2'))).toBe('NORMAL');
    table.judge(20_000_000);
    expect([table.opinion(node('n2')), table.opinion(node('n3'))]).toEqual(['DOWN', 'UNKNOWN']);
  });

  it('does not count its own pause as silence of its peers', () => {
    const { table } = tableOf('n1');
    hear(table, recordOf('n2'), 0);
    hear(table, recordOf('n2', { version: 2 }), 1_000_000);
    table.pardon(59_000_000, 61_000_000);
    table.judge(61_000_000);
    expect(table.opinion(node('n2'))).toBe('NORMAL');
    table.judge(80_000_000);
    expect(table.opinion(node('n2'))).toBe('DOWN');
  });

  it('judges a peer DOWN that announces that it stops, until its next incarnation', () => {
    const { table, moves } = tableOf('n1');
    hear(table, recordOf('n2'));
    hear(table, recordOf('n2', { version: 2, away: true }));
    hear(table, recordOf('n2', { generation: 2, epoch: 'next' }));
    expect(moves.slice(1)).toEqual(['n2 NORMAL>DOWN', 'n2 DOWN>RESET', 'n2 RESET>NORMAL']);
  });

  it('keeps the records of members that left, and frees their tokens', () => {
    const { table } = tableOf('n1');
    hear(table, recordOf('n2'));
    hear(table, recordOf('n2', { version: 2, state: 'LEAVING' }));
    hear(table, recordOf('n2', { version: 3, state: 'LEAVING', left: true }));
    expect(table.opinion(node('n2'))).toBe('DOWN');
    expect(hear(table, recordOf('n2', { version: 2 })).kind).toBe('old');
    expect(hear(table, recordOf('n3', { tokens: [2000 as Token] })).kind).toBe('applied');
  });

  it('converges after a few random rounds, whatever pairs gossip', () => {
    const pairs = fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { minLength: 5, maxLength: 40 });
    fc.assert(
      fc.property(pairs, (talks) => {
        const tables = Array.from({ length: 7 }, (_, index) => tableOf(`n${index + 1}`).table);
        const talk = (left: MemberTable, right: MemberTable): void => {
          const toLeft = right.newerThan(left.digest());
          const toRight = left.newerThan(right.digest());
          expect(right.isBehind(left.digest())).toBe(toRight.length > 0);
          for (const record of toLeft) left.apply(record, right.self.node, 0);
          for (const record of toRight) right.apply(record, left.self.node, 0);
        };
        for (const [left, right] of talks) {
          const [one, other] = [present(tables[left], 'left'), present(tables[right], 'right')];
          one.beat();
          if (one !== other) talk(one, other);
        }
        const [first, ...rest] = tables;
        for (const other of rest) talk(present(first, 'first'), other);
        for (const other of rest) talk(present(first, 'first'), other);
        const known = (table: MemberTable): unknown =>
          table.digest().toSorted((left, right) => (left.node < right.node ? -1 : 1));
        for (const other of rest) expect(known(other)).toEqual(known(present(first, 'first')));
      }),
    );
  });
});

describe('a node name that is used again', () => {
  const dead = recordOf('n2', { generation: 5 });
  const replacement = recordOf('n3', { replaces: node('n2'), tokens: dead.tokens });
  const anew = recordOf('n2', {
    generation: 9,
    epoch: 'e-new',
    joined: 9,
    rack: 'r2',
    tokens: [77 as Token],
  });

  it('is another membership than the one that was replaced, and that one stays replaced when its replacement has left', () => {
    for (const left of [false, true]) {
      const { table } = tableOf('n1');
      table.apply(dead, dead.node, 0);
      table.apply({ ...replacement, left, state: left ? 'LEAVING' : 'NORMAL' }, replacement.node, 0);
      expect(table.isSuperseded(dead)).toBe(true);
      expect(table.isSuperseded(anew)).toBe(false);
    }
  });

  it('may have another location, which a node that missed the change accepts from other nodes', () => {
    const { table } = tableOf('n1');
    table.apply(dead, dead.node, 0);
    const { joined: _, ...claim } = anew;
    expect(table.placeFault(claim)).toBe('location');
    expect(table.apply(anew, node('n3'), 0)).toMatchObject({ kind: 'applied', ringChanged: true });
    expect(table.placeFault(claim)).toBeUndefined();
    // A record of the earlier membership is only late.
    expect(table.apply({ ...dead, version: 100 }, node('n3'), 0)).toEqual({ kind: 'old' });
  });

  it('keeps its tokens in a new incarnation of the same membership', () => {
    const { table } = tableOf('n1');
    table.apply(anew, node('n3'), 0);
    const moved = { ...anew, generation: 10, epoch: 'e-next', tokens: [78 as Token] };
    expect(table.apply(moved, node('n3'), 0)).toEqual(refused('tokens'));
  });

  it('names, for a replacement, the membership that it ends: the one that is known when it begins to copy', () => {
    const { table } = tableOf('n3', { state: 'JOINING', joined: 4, replaces: node('n2') });
    table.apply({ ...anew, away: true }, node('n1'), 0);
    table.declare(table.moved('JOINING', 'copying'));
    table.declare(table.moved('NORMAL', 'switching'));
    expect(table.self.supersedes).toBe(9);
    expect(table.isSuperseded(anew)).toBe(true);
    expect(table.isSuperseded({ ...anew, joined: 10 })).toBe(false);
  });

  it('begins in the generation that was raised above an earlier one of its name', () => {
    const { table } = tableOf('n3', { state: 'JOINING', generation: 4, joined: 4 });
    table.raise(12);
    expect(table.self).toMatchObject({ generation: 12, joined: 12 });
    table.declare(table.moved('NORMAL', 'none'));
    table.raise(15);
    expect(table.self).toMatchObject({ generation: 15, joined: 12 });
  });
});

describe('gossip messages', () => {
  it('decode to what was encoded', () => {
    const words = {
      digest: tableOf('n1').table.digest(),
      records: [
        recordOf('n2', { left: true, joined: 7, replaces: 'n1' as NodeId, supersedes: 3 }),
        recordOf('n3', { away: true, state: 'LEAVING', move: 'copying' }),
      ],
      view: '0123',
    };
    expect(decodeGossip(encodeGossip(words))).toEqual(words);
  });

  it('are decoded alike by a codec with and without memory, from borrowed bytes, too', () => {
    const record = fc
      .record({
        node: fc.constantFrom('n1', 'n2', 'n3'),
        version: fc.nat(3),
        away: fc.boolean(),
        joined: fc.constantFrom(undefined, 1, 2),
      })
      .map(({ node, ...more }) => recordOf(node, more));
    fc.assert(
      fc.property(fc.array(fc.array(record, { maxLength: 4 }), { maxLength: 8 }), (messages) => {
        const [writer, reader] = [new GossipCodec(), new GossipCodec()];
        for (const records of messages) {
          const words = { digest: [], records, view: '' };
          const lent = Buffer.from(writer.encode(words));
          expect(lent.equals(encodeGossip(words))).toBe(true);
          expect(reader.decode(lent)).toEqual(words);
          lent.fill(0);
        }
      }),
    );
  });

  it('are the bytes that the schema gives, and decode as the schema decodes them, in any encoding', () => {
    const whole = fc.maxSafeNat();
    const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/) as fc.Arbitrary<NodeId>;
    const text = fc
      .string({ minLength: 1, maxLength: 256, unit: 'grapheme' })
      .filter((one) => one.length <= 256);
    const words = fc.record({
      digest: fc.array(fc.record({ node: name, generation: whole, version: whole }), { maxLength: 5 }),
      records: fc.array(fc.record({ node: name, version: whole, left: fc.boolean() }), { maxLength: 5 }),
      view: text,
      news: fc.array(fc.record({ topic: text, digest: text }), { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(words, ({ records: some, ...more }) => {
        const records = some.map(({ node: of, ...rest }) => recordOf(of, { ...rest, tokens: [7 as Token] }));
        const schema = { ...more, records: records.map((record) => recordType.encode(record).finish()) };
        const bytes = wordsType.encode(schema).finish();
        expect(Buffer.from(encodeGossip({ ...more, records })).equals(bytes)).toBe(true);
        expect(decodeGossip(bytes)).toEqual({ ...more, records });
        // A field that this version does not know.
        expect(decodeGossip(Buffer.concat([bytes, Buffer.from([0x7a, 1, 7])]))).toEqual({ ...more, records });
      }),
    );
  });

  it('are refused with the name of the fault when they state what no member may state', () => {
    const said = (more: object): Uint8Array =>
      encodeGossip({ digest: [], records: [{ ...recordOf('n2'), ...more }], view: '' });
    expect(() => decodeGossip(said({ state: 'DOWN' }))).toThrow(
      /"DOWN" is unknown; allowed: JOINING, NORMAL/,
    );
    expect(() => decodeGossip(said({ move: 'gone' }))).toThrow(/"gone" is unknown; allowed: none, queued/);
    expect(() => decodeGossip(said({ node: 'a b' }))).toThrow(/node name/);
    expect(() => decodeGossip(said({ tokens: [2, 1] }))).toThrow(/ascending/);
    expect(() => decodeGossip(said({ tokens: [] }))).toThrow(/1 to 256 tokens/);
    expect(() => decodeGossip(said({ generation: -1 }))).toThrow(/whole number/);
    const many = Array.from({ length: 1025 }, (_, index) => ({
      node: `n${index}` as NodeId,
      generation: 1,
      version: 1,
    }));
    expect(() => decodeGossip(encodeGossip({ digest: many, records: [], view: '-' }))).toThrow(
      /at most 1024/,
    );
  });

  it('throw BadRequest for any other bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeGossip(bytes);
        } catch (error) {
          expect(error instanceof LockstepError && error.code).toBe('BadRequest');
        }
      }),
    );
  });
});
