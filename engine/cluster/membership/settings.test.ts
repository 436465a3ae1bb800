import { describe, expect, it } from 'vitest';

import type { NodeId, Token } from '../../base/ids.ts';
import { detectorDefaults } from './detector.ts';
import { gossipDefaults } from './gossip.ts';
import type { MemberRecord } from './member-record.ts';
import { ownRecord } from './settings.ts';

const self = { node: 'n4' as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [40 as Token] };

const remembered: MemberRecord = {
  ...self,
  generation: 4,
  version: 9,
  epoch: 'e4',
  state: 'JOINING',
  move: 'copying',
  joined: 3,
  replaces: undefined,
  supersedes: undefined,
  left: false,
  away: false,
  address: 'n4:8101',
};

/** The record of incarnation 5. `before`: what the member file says of the one before; undefined for no file. */
function recordOf(joining: boolean, before: Partial<MemberRecord> | undefined): MemberRecord {
  const records = before === undefined ? [] : [{ ...remembered, ...before }];
  const settings = {
    self,
    address: 'n4:8101',
    epoch: 'e5',
    joining,
    replaces: undefined,
    seeds: [],
  } as const;
  return ownRecord({ ...settings, gossip: gossipDefaults, detector: detectorDefaults }, 5, {
    remembered: records,
  });
}

describe('the own record at a start', () => {
  it('goes on joining if the join is not over, although the file says that the node is a member', () => {
    for (const move of ['queued', 'copying'] as const)
      expect(recordOf(false, { move })).toMatchObject({ state: 'JOINING', move: 'queued', joined: 3 });
  });

  it('is that of a member once the node has joined, although the file says that it joins', () => {
    expect(recordOf(true, { state: 'NORMAL', move: 'switching' })).toMatchObject({
      state: 'NORMAL',
      move: 'switching',
      joined: 3,
    });
  });

  it('follows from the configuration in the first incarnation', () => {
    expect(recordOf(false, undefined)).toMatchObject({ state: 'NORMAL', move: 'none', joined: undefined });
    expect(recordOf(true, undefined)).toMatchObject({ state: 'JOINING', move: 'queued', joined: 5 });
  });
});
