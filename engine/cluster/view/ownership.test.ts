import { describe, expect, it } from 'vitest';

import type { NodeId, Token } from '../../base/ids.ts';
import { Detector, detectorDefaults } from '../membership/detector.ts';
import { Ownership } from './ownership.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import { MemberTable } from '../membership/table.ts';

const at = 15 as Token;

function recordOf(node: string, rack: string, token: number, more: Partial<MemberRecord> = {}): MemberRecord {
  const life = { generation: 1, version: 1, epoch: `e-${node}`, left: false, away: false } as const;
  const place = { datacenter: 'd', rack, tokens: [token as Token], address: `${node}:1` };
  return {
    node: node as NodeId,
    ...life,
    ...place,
    state: 'NORMAL',
    move: 'none',
    joined: undefined,
    replaces: undefined,
    supersedes: undefined,
    ...more,
  };
}

/** n1 owns all of r1, n2 of r2; the member is what it says at each step. */
function ground(member: MemberRecord): {
  readonly step: (more: Partial<MemberRecord>) => string;
  readonly view: () => string;
} {
  const self = recordOf('n1', 'r1', 100);
  const table = new MemberTable(
    self,
    () => new Detector(detectorDefaults),
    () => undefined,
  );
  const ownership = new Ownership(self, table);
  let record = member;
  const say = (said: MemberRecord): void => {
    expect(table.apply(said, said.node, 0).kind).toBe('applied');
    ownership.refresh();
  };
  say(recordOf('n2', 'r2', 100));
  const owners = (members: readonly { readonly node: string }[]): string =>
    members
      .map(({ node }) => node)
      .toSorted()
      .join(' ');
  return {
    step: (more) => {
      record = { ...record, ...more, version: record.version + 1 };
      say(record);
      return `${owners(ownership.ring.placement(at))} | ${owners(ownership.pending(at))}`;
    },
    view: () => ownership.view,
  };
}

describe('who is read | and written to besides', () => {
  it('goes from the owner to the joiner in two steps', () => {
    const { step } = ground(recordOf('j', 'r1', 20));
    expect(step({ state: 'JOINING', move: 'queued' })).toBe('n1 n2 | ');
    expect(step({ state: 'JOINING', move: 'copying' })).toBe('n1 n2 | j');
    expect(step({ state: 'NORMAL', move: 'switching' })).toBe('j n2 | n1');
    expect(step({ state: 'NORMAL', move: 'none' })).toBe('j n2 | ');
  });

  it('goes from the leaver to its rack mate in two steps', () => {
    const { step } = ground(recordOf('l', 'r1', 20));
    expect(step({})).toBe('l n2 | ');
    expect(step({ state: 'LEAVING', move: 'queued' })).toBe('l n2 | ');
    expect(step({ state: 'LEAVING', move: 'copying' })).toBe('l n2 | n1');
    expect(step({ state: 'LEAVING', move: 'switching' })).toBe('n1 n2 | l');
    expect(step({ move: 'none', left: true })).toBe('n1 n2 | ');
  });

  it('goes to a replacement for its dead node, which nobody is written to afterwards', () => {
    const { step } = ground(recordOf('r', 'r2', 100, { replaces: 'n2' as NodeId }));
    // The dead one is routable until it is found silent.
    expect(() => step({ state: 'JOINING', move: 'copying' })).toThrow();
    const heir = ground(recordOf('r', 'r2', 100, { replaces: 'n2' as NodeId }));
    expect(heir.step({ state: 'NORMAL', move: 'switching' })).toBe('n1 r | ');
  });

  it('grows and shrinks by a rack', () => {
    const { step } = ground(recordOf('j', 'r3', 20));
    expect(step({ state: 'JOINING', move: 'copying' })).toBe('n1 n2 | j');
    expect(step({ state: 'NORMAL', move: 'switching' })).toBe('j n1 n2 | ');
    expect(step({ state: 'LEAVING', move: 'copying' })).toBe('j n1 n2 | ');
    expect(step({ state: 'LEAVING', move: 'switching' })).toBe('n1 n2 | j');
  });

  it('has another fingerprint at every step, and the same one for the same ring', () => {
    const { step, view } = ground(recordOf('j', 'r1', 20));
    const views: string[] = [];
    for (const more of [
      { state: 'JOINING', move: 'queued' },
      { move: 'copying' },
      { move: 'queued' },
      { state: 'NORMAL', move: 'switching' },
      { move: 'none' },
    ] as const) {
      step(more);
      views.push(view());
    }
    expect(views[2]).toBe(views[0]);
    expect(new Set(views).size).toBe(4);
  });
});
