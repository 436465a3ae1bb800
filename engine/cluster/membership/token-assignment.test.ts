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

/** What is done, in order. */
function heritageOf(own: Partial<MemberRecord> = {}): { heritage: TokenAssignment; done: unknown[] } {
  const done: unknown[] = [];
  const heritage: TokenAssignment = new TokenAssignment(
    {
      log: { enabled: () => true, event: (level, name) => void done.push(`${level} ${name}`) },
      spawn: (_name, task) => void task().catch((error: unknown) => done.push(error)),
    },
    {
      self: () => ({ ...record, ...own }),
      save: () => {
        done.push(['saved', heritage.record.tokens]);
        return Promise.resolve();
      },
    },
  );
  return { heritage, done };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the tokens that a peer tells of', () => {
  it('are those of a replacement that waits to be let in, durably before its starter hears of them', async () => {
    const { heritage, done } = heritageOf();
    heritage.onTokens((told) => done.push(['told', told]));
    heritage.told(peer, tokens, true);
    await settled();
    expect(done).toEqual(['warn membership.tokens.told', ['saved', tokens], ['told', tokens]]);
  });

  it('are told to a starter that asks late, once', async () => {
    const { heritage, done } = heritageOf();
    heritage.told(peer, tokens, true);
    heritage.told('n3' as NodeId, [90 as Token], true);
    await settled();
    heritage.onTokens((told) => done.push(['told', told]));
    expect(done).toEqual(['warn membership.tokens.told', ['saved', tokens], ['told', tokens]]);
  });

  it('are those of a member that is getting back what was on its disk', async () => {
    const { heritage, done } = heritageOf({ state: 'NORMAL', move: 'none', replaces: undefined });
    heritage.told(peer, tokens, true);
    await settled();
    expect(done).toContainEqual(['saved', tokens]);
  });

  it.each([
    ['a member that holds keys', { state: 'NORMAL', move: 'none' }, false],
    ['one that copies already', { move: 'copying' }, true],
    ['one that joins and replaces nobody', { replaces: undefined }, true],
    ['one that has them', { tokens }, true],
  ] as const)('are nothing to %s', async (_who, own, refilling) => {
    const { heritage, done } = heritageOf(own);
    heritage.told(peer, tokens, refilling);
    await settled();
    expect(done).toEqual([]);
  });
});

describe('the tokens of a member by its disk', () => {
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
