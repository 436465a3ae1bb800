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

/** The owners at each step of a third member: n1 owns all of r1, n2 all of r2. */
function harness(member: MemberRecord): {
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

describe('read owners | pending owners', () => {
  it('change from the owner to the joining node in two steps', () => {
    const { step } = harness(recordOf('j', 'r1', 20));
    expect(step({ state: 'JOINING', move: 'queued' })).toBe('n1 n2 | ');
    expect(step({ state: 'JOINING', move: 'copying' })).toBe('n1 n2 | j');
    expect(step({ state: 'NORMAL', move: 'switching' })).toBe('j n2 | n1');
    expect(step({ state: 'NORMAL', move: 'none' })).toBe('j n2 | ');
  });

  it('change from the leaving node to its rack neighbour in two steps', () => {
    const { step } = harness(recordOf('l', 'r1', 20));
    expect(step({})).toBe('l n2 | ');
    expect(step({ state: 'LEAVING', move: 'queued' })).toBe('l n2 | ');
    expect(step({ state: 'LEAVING', move: 'copying' })).toBe('l n2 | n1');
    expect(step({ state: 'LEAVING', move: 'switching' })).toBe('n1 n2 | l');
    expect(step({ move: 'none', left: true })).toBe('n1 n2 | ');
  });

  it('change from the dead node to its replacement, and no writes go to the dead node afterwards', () => {
    const { step } = harness(recordOf('r', 'r2', 100, { replaces: 'n2' as NodeId }));
    // The dead node is routable until it is judged DOWN.
    expect(() => step({ state: 'JOINING', move: 'copying' })).toThrow();
    const replacement = harness(recordOf('r', 'r2', 100, { replaces: 'n2' as NodeId }));
    expect(replacement.step({ state: 'NORMAL', move: 'switching' })).toBe('n1 r | ');
  });

  it('grow and shrink by a rack', () => {
    const { step } = harness(recordOf('j', 'r3', 20));
    expect(step({ state: 'JOINING', move: 'copying' })).toBe('n1 n2 | j');
    expect(step({ state: 'NORMAL', move: 'switching' })).toBe('j n1 n2 | ');
    expect(step({ state: 'LEAVING', move: 'copying' })).toBe('j n1 n2 | ');
    expect(step({ state: 'LEAVING', move: 'switching' })).toBe('n1 n2 | j');
  });

  it('have another fingerprint at every step, and the same one for the same ring', () => {
    const { step, view } = harness(recordOf('j', 'r1', 20));
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
