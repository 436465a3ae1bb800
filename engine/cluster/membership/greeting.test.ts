import { describe, expect, it } from 'vitest';

import type { NodeId, Token } from '../../base/ids.ts';
import type { Hello } from '../../peer/wire/messages.ts';
import { Detector, detectorDefaults } from './detector.ts';
import { judgeGreeting } from './greeting.ts';
import type { MemberRecord } from './member-record.ts';
import { MemberTable } from './table.ts';

const record: MemberRecord = {
  node: 'n2' as NodeId,
  generation: 5,
  version: 1,
  epoch: 'e5',
  state: 'NORMAL',
  move: 'none',
  joined: undefined,
  replaces: undefined,
  supersedes: undefined,
  left: false,
  away: false,
  address: 'n2:8101',
  datacenter: 'dc1',
  rack: 'r2',
  tokens: [20 as Token],
};

const hello: Hello = {
  clusterId: 'orchard',
  node: record.node,
  datacenter: 'dc1',
  rack: 'r2',
  tokens: record.tokens,
  epoch: 'e5',
  generation: 5,
  joining: false,
  version: '0.1.0',
  messages: { min: 3, max: 4 },
};

const stranger: Hello = { ...hello, node: 'n9' as NodeId, tokens: [90 as Token], epoch: 'e9' };
const nextLife: Hello = { ...hello, generation: 6, epoch: 'e6' };

/** As an incarnation begins: the peer is expected, and was not heard yet. */
function tableOf(expected: MemberRecord): MemberTable {
  const self = { ...record, node: 'n1' as NodeId, rack: 'r1', tokens: [10 as Token] };
  const made = new MemberTable(
    self,
    () => new Detector(detectorDefaults),
    () => undefined,
  );
  made.expect(expected);
  return made;
}

function table(known: Partial<MemberRecord> = {}): MemberTable {
  const made = tableOf({ ...record, generation: 0, version: 0, epoch: '' });
  made.apply({ ...record, ...known }, record.node, 0);
  return made;
}

describe('a greeting', () => {
  it('of a member is admitted in its latest incarnation and in a later one', () => {
    expect(judgeGreeting(table(), hello, false)).toBeUndefined();
    expect(judgeGreeting(table(), nextLife, false)).toBeUndefined();
    expect(judgeGreeting(table(), { ...nextLife, blankAt: 'n2:9101' }, false)).toBeUndefined();
    // The same process, whose greeting does not have its raised generation yet.
    expect(judgeGreeting(table({ generation: 7 }), hello, false)).toBeUndefined();
  });

  it('refuses a member with an empty disk on another machine, which may be alive there', () => {
    const elsewhere = { ...nextLife, blankAt: 'n7:8101' };
    expect(judgeGreeting(table(), elsewhere, false)).toMatchObject({
      reason: 'sameName',
      detail: expect.stringContaining('replace: n2') as string,
    });
    // Nobody has heard it yet: the address is from a configuration.
    expect(judgeGreeting(table({ generation: 0, version: 0 }), elsewhere, false)).toBeUndefined();
  });

  it('of an unknown node is admitted when it joins, and refused when it claims to be a member', () => {
    expect(judgeGreeting(table(), { ...stranger, joining: true }, false)).toBeUndefined();
    expect(judgeGreeting(table(), stranger, false)).toMatchObject({
      reason: 'unknown',
      detail: 'node n9 is not a member of this cluster; a new node starts with join: joining',
    });
    expect(judgeGreeting(table({ left: true }), nextLife, false)).toMatchObject({
      reason: 'unknown',
      detail:
        'node n2 has left this cluster, or was replaced; it joins again with join: joining and an empty data_dir',
    });
  });

  it('of a member that joins again, having lost its disk, is refused, and the refusal says how to start it', () => {
    const reborn = { ...nextLife, joining: true };
    expect(judgeGreeting(table(), reborn, false)).toMatchObject({
      reason: 'identity',
      detail: expect.stringMatching(/^node n2 is a member already .* join: member/) as string,
    });
    expect(judgeGreeting(table({ state: 'LEAVING', move: 'copying' }), reborn, false)?.reason).toBe(
      'identity',
    );
    // A node that only waits or copies begins again. So does a node whose membership may not be durable yet.
    expect(judgeGreeting(table({ state: 'JOINING', move: 'copying' }), reborn, false)).toBeUndefined();
    expect(judgeGreeting(table({ move: 'switching' }), reborn, false)).toBeUndefined();
    // An old greeting of the same incarnation; a seed that was never heard; a node that has left.
    expect(judgeGreeting(table(), { ...hello, joining: true }, false)).toBeUndefined();
    expect(judgeGreeting(table({ generation: 0, epoch: '' }), reborn, false)).toBeUndefined();
    expect(judgeGreeting(table({ left: true }), reborn, false)).toBeUndefined();
  });

  it('with another location or other tokens than known is refused, and the refusal says what was expected', () => {
    expect(judgeGreeting(table(), { ...hello, rack: 'r7' }, false)).toMatchObject({
      reason: 'location',
      detail: 'node n2 is in dc1/r7; expected in dc1/r2',
    });
    expect(judgeGreeting(table(), { ...hello, tokens: [21 as Token] }, false)).toMatchObject({
      reason: 'tokens',
      tokens: [20],
    });
    const thief = { ...stranger, joining: true, tokens: [20 as Token] };
    expect(judgeGreeting(table(), thief, false)?.reason).toBe('duplicateToken');
  });

  it('of a replacement that comes too early is refused, and the refusal says what it waits for', () => {
    const replacement = { ...stranger, joining: true, tokens: [20 as Token], replaces: hello.node };
    expect(judgeGreeting(table(), replacement, false)).toMatchObject({
      reason: 'duplicateToken',
      detail: expect.stringMatching(
        /^node n9 replaces n2, which is \w+ here; it is let in once n2/,
      ) as string,
    });
  });

  it('of a replacement is refused until the dead node has been silent for long enough, even if this incarnation never heard it', () => {
    const replacement = {
      ...stranger,
      rack: hello.rack,
      joining: true,
      tokens: hello.tokens,
      replaces: hello.node,
    };
    const restarted = tableOf(record);
    restarted.listen(0);
    const silentUs = 18_000_000;
    restarted.judge(silentUs);
    expect(judgeGreeting(restarted, replacement, false)).toMatchObject({
      reason: 'duplicateToken',
      detail: expect.stringContaining('n2, which is UNKNOWN here') as string,
    });
    restarted.judge(silentUs + 1_000_000);
    expect(judgeGreeting(restarted, replacement, false)).toBeUndefined();
  });

  it('of a replacement that was admitted before is admitted at once after a restart', () => {
    const replacement = {
      ...stranger,
      rack: hello.rack,
      joining: true,
      tokens: hello.tokens,
      replaces: hello.node,
    };
    const restarted = tableOf(record);
    const { node, tokens } = replacement;
    const known = { ...record, node, tokens, generation: 3, epoch: 'e3', replaces: record.node };
    restarted.expect({ ...known, state: 'JOINING', move: 'copying' });
    expect(judgeGreeting(restarted, { ...replacement, generation: 4 }, false)).toBeUndefined();
  });

  it('of a replacement with another location or other tokens than the dead node is refused', () => {
    const { rack } = hello;
    const replacement = { ...stranger, rack, joining: true, tokens: hello.tokens, replaces: hello.node };
    expect(judgeGreeting(table(), { ...replacement, rack: 'r7' }, false)).toMatchObject({
      reason: 'location',
      detail: 'node n9 replaces n2 and is in dc1/r7; a replacement stands where that one stood, in dc1/r2',
    });
    expect(judgeGreeting(table(), { ...replacement, tokens: [21 as Token] }, false)).toMatchObject({
      reason: 'tokens',
      detail: expect.stringContaining('it is told which it takes over') as string,
      tokens: [20],
    });
    // A dead node that was never heard is known by this node's configuration only.
    const unheard = table();
    unheard.expect({ ...record, node: 'n5' as NodeId, rack: 'r5', tokens: [50 as Token], generation: 0 });
    const stranded = judgeGreeting(unheard, { ...replacement, rack: 'r5', replaces: 'n5' as NodeId }, false);
    expect(stranded).toMatchObject({
      reason: 'tokens',
      detail: expect.stringContaining('name n5 among its seeds') as string,
    });
    expect(stranded).not.toHaveProperty('tokens');
    expect(judgeGreeting(table(), { ...replacement, replaces: 'n8' as NodeId }, false)).toMatchObject({
      reason: 'tokens',
      detail: 'node n9 replaces n8, which is not a member of this cluster',
    });
    // The replacement owns what it has taken over.
    expect(judgeGreeting(table({ left: true }), replacement, false)).toBeUndefined();
  });

  it('of an earlier incarnation, or of another process with the same number, is refused with the number that was seen', () => {
    for (const change of [{ generation: 4 }, { generation: 5 }]) {
      expect(judgeGreeting(table(), { ...hello, epoch: 'other', ...change }, false)).toMatchObject({
        reason: 'oldLife',
        generation: 5,
      });
    }
  });

  it('while another process of the name is connected is refused, without a number to raise above', () => {
    for (const said of [nextLife, { ...hello, epoch: 'other', generation: 4 }]) {
      const refusal = judgeGreeting(table(), said, true);
      expect([refusal?.reason, refusal?.generation]).toEqual(['sameName', undefined]);
    }
  });
});
