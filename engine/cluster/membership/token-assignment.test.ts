import { describe, expect, it } from 'vitest';

import type { NodeId, Token } from '../../base/ids.ts';
import { TokenAssignment, tokensOfMember } from './token-assignment.ts';
import type { MemberRecord } from './member-record.ts';

const peer = 'n1' as NodeId;
const tokens = [20 as Token, 21 as Token];

const record: MemberRecord = {
  node: 'n8' as NodeId,
  generation: 5,
  version: 1,
  epoch: 'e5',
  state: 'JOINING',
  move: 'queued',
  joined: 5,
  replaces: 'n7' as NodeId,
  supersedes: undefined,
  left: false,
  away: false,
  address: 'n8:8101',
  datacenter: 'dc1',
  rack: 'r2',
  tokens: [80 as Token, 81 as Token],
};

/** A token assignment whose membership and log append to `done` what happens, in sequence. */
function assignmentOf(own: Partial<MemberRecord> = {}): { assignment: TokenAssignment; done: unknown[] } {
  const done: unknown[] = [];
  const assignment: TokenAssignment = new TokenAssignment(
    {
      log: { enabled: () => true, event: (level, name) => void done.push(`${level} ${name}`) },
      spawn: (_name, task) => void task().catch((error: unknown) => done.push(error)),
    },
    {
      self: () => ({ ...record, ...own }),
      save: () => {
        done.push(['saved', assignment.record.tokens]);
        return Promise.resolve();
      },
    },
  );
  return { assignment, done };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('tokens that a peer assigns', () => {
  it('apply to a replacement that waits to be admitted, and are durable before the embedder gets them', async () => {
    const { assignment, done } = assignmentOf();
    assignment.onTokens((told) => done.push(['told', told]));
    assignment.told(peer, tokens, true);
    await settled();
    expect(done).toEqual(['warn membership.tokens.told', ['saved', tokens], ['told', tokens]]);
  });

  it('reach an embedder that registers late, once', async () => {
    const { assignment, done } = assignmentOf();
    assignment.told(peer, tokens, true);
    assignment.told('n3' as NodeId, [90 as Token], true);
    await settled();
    assignment.onTokens((told) => done.push(['told', told]));
    expect(done).toEqual(['warn membership.tokens.told', ['saved', tokens], ['told', tokens]]);
  });

  it('apply to a member whose rebuild is under way', async () => {
    const { assignment, done } = assignmentOf({ state: 'NORMAL', move: 'none', replaces: undefined });
    assignment.told(peer, tokens, true);
    await settled();
    expect(done).toContainEqual(['saved', tokens]);
  });

  it.each([
    ['a member that holds keys', { state: 'NORMAL', move: 'none' }, false],
    ['one that copies already', { move: 'copying' }, true],
    ['one that joins and replaces nobody', { replaces: undefined }, true],
    ['one that has them', { tokens }, true],
  ] as const)('are nothing to %s', async (_who, own, isRebuilding) => {
    const { assignment, done } = assignmentOf(own);
    assignment.told(peer, tokens, isRebuilding);
    await settled();
    expect(done).toEqual([]);
  });
});

describe('the tokens of a member by its member file', () => {
  it.each([
    ['of a member', { state: 'NORMAL', move: 'none' }, record.tokens],
    ['of one that copies', { move: 'copying' }, record.tokens],
    ['of one that has not begun', {}, undefined],
    ['of one that has left, and says so', { state: 'LEAVING', move: 'none', left: true }, record.tokens],
    ['of another one', { node: 'n9' as NodeId, state: 'NORMAL', move: 'none' }, undefined],
  ] as const)('%s', (_who, own, expected) => {
    expect(tokensOfMember({ remembered: [{ ...record, ...own }] }, record.node)).toEqual(expected);
  });
});
