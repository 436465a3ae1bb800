/** Answers of `GET /cluster`, for tests of the commands that read them. */
import type { ClusterView, MemberView } from '../../node/node.ts';

/** A NORMAL member, in a rack of its own. */
export function testingMember(node: string, more: Partial<MemberView> = {}): MemberView {
  const place = { datacenter: 'dc1', rack: `r${node.slice(1)}`, address: `127.0.0.1:81${node.slice(1)}1` };
  return { node, ...place, state: 'NORMAL', move: 'none', owns: true, share: 100_000, tokens: 16, ...more };
}

/** Three NORMAL members, with `n1` as the answering node and no ring change. */
export const calmView: ClusterView = {
  node: 'n1',
  store: 'open',
  view: '0006d5505b6852b5',
  members: [testingMember('n1'), testingMember('n2'), testingMember('n3')],
  transfer: {
    ranges: 0,
    ranges_left: 0,
    keys_in: 0,
    bytes_in: 0,
    keys_out: 0,
    bytes_out: 0,
    waits_for: { members: [], transactions: 0, hints: 0 },
  },
  held: { seconds: 0, transactions: [] },
};
