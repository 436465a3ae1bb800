import { expect, test } from 'vitest';

import type { ClusterView, MemberView } from '../../node/node.ts';
import type { Examined } from './doctor-findings.ts';
import { findingsOf } from './doctor-findings.ts';

const member = (node: string, rack: string, more: Partial<MemberView> = {}): MemberView => ({
  node,
  datacenter: 'dc1',
  rack,
  address: `${node}:8101`,
  state: 'NORMAL',
  move: 'none',
  owns: true,
  share: 100_000,
  tokens: 16,
  ...more,
});

const members = [member('n1', 'r1'), member('n2', 'r2'), member('n3', 'r3')];

function viewOf(node: string, more: Partial<ClusterView> = {}): ClusterView {
  const none = { ranges: 0, ranges_left: 0, keys_in: 0, bytes_in: 0, keys_out: 0, bytes_out: 0 };
  const transfer = { ...none, waits_for: { members: [], transactions: 0, hints: 0 } };
  return {
    node,
    store: 'open',
    view: 'v',
    members,
    transfer,
    held: { seconds: 0, transactions: [] },
    ...more,
  };
}

function cluster(change: (node: string) => Partial<Examined> = () => ({})): readonly Examined[] {
  return ['n1', 'n2', 'n3'].map((node) => ({
    address: `${node}:8098`,
    view: viewOf(node),
    inDoubt: [],
    version: '0.1.0',
    clockAheadMs: 300,
    ...change(node),
  }));
}

/** `severity about: problem` of each finding. */
function said(examined: readonly Examined[]): readonly string[] {
  return findingsOf(examined).map(({ severity, about, problem }) => `${severity} ${about}: ${problem}`);
}

test('nothing is wrong with a cluster in order', () => {
  expect(said(cluster())).toEqual([]);
});

test.each([
  ['a full disk', { view: viewOf('n2', { store: 'failed' }) }, 'wrong n2: its store is failed'],
  ['another ring view', { view: viewOf('n2', { view: 'w' }) }, 'wrong cluster: the nodes have 2 different'],
  ['another version', { version: '0.2.0' }, 'watch cluster: versions are mixed: 0.1.0, 0.2.0'],
  ['a clock behind', { clockAheadMs: -60_000 }, "wrong n2: its clock is 60 s behind this machine's"],
  ['a certificate that ends', { certificateDays: 5.5 }, 'watch n2: its certificate ends in 5 days'],
  ['a certificate that has ended', { certificateDays: -1 }, 'wrong n2: its certificate ends in -1 days'],
  [
    'a held ring',
    { view: viewOf('n2', { held: { seconds: 90, transactions: ['t'] } }) },
    'wrong n2: a changed ring waits for 90 s',
  ],
  [
    'a peer without a version in common',
    {
      view: viewOf('n2', {
        refused: [{ node: 'n1', reason: 'version', detail: 'node n1 speaks version 2' }],
      }),
    },
    'wrong n2: it and n1 do not connect: node n1 speaks version 2',
  ],
] as const)('%s is found', (_, change, problem) => {
  const found = said(cluster((node) => (node === 'n2' ? change : {})));
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(problem);
});

test('a node that does not answer, a member that is down and one that no answer is of are found, the wrong ones first', () => {
  const down = [...members.slice(0, 2), member('n3', 'r3', { state: 'DOWN' }), member('n4', 'r4')];
  const [first, second] = cluster(() => ({}));
  const asked = [
    { ...first, address: 'a', view: viewOf('n1', { members: down }) },
    { ...second, address: 'b' },
  ];
  expect(said([...asked, { address: 'c:1', error: 'refused' }])).toEqual([
    'wrong c:1: refused',
    'wrong n3: n1 has not heard it for a while',
    'watch n4: it is a member, and no answer is its',
  ]);
});

test('a member that was not asked is found', () => {
  expect(said(cluster().slice(0, 2))).toEqual(['watch n3: it is a member and was not asked']);
});

test('a lopsided ring is found', () => {
  const lopsided = [
    member('n1', 'r1', { share: 90_000 }),
    member('n4', 'r1', { share: 10_000 }),
    member('n5', 'r1', { share: 0 }),
    member('n2', 'r2'),
  ];
  const [first] = cluster();
  const found = said([{ ...first, address: 'a', view: viewOf('n1', { members: lopsided }) }]);
  for (const part of ['2 racks, so 2 copies', 'its racks have 3, 1 nodes', 'it owns 90.0 % of its rack of 3'])
    expect(found.join('\n')).toContain(part);
});
