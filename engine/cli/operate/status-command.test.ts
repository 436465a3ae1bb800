/** The text that `lockstep status` prints for an operator. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test, vi } from 'vitest';

import type { ClusterView } from '../../node/node.ts';
import { invocation } from '../invocation.ts';
import type { InDoubt } from './in-doubt.ts';
import { inDoubtTable } from './in-doubt.ts';
import { runLockstep } from '../program.ts';
import { findingsOf } from './doctor-findings.ts';
import { describeCluster } from './status-command.ts';
import { painterFor } from '../terminal.ts';
import { calmView as calm, testingMember as member } from './cluster-views.fixture.ts';

const plain = painterFor({});

test('a cluster in order', () => {
  expect(describeCluster(calm, [], plain)).toBe(
    `
n1, whose view of the ring is 0006d5505b6852b5

node  datacenter  rack  state   move  of its rack  tokens  address
n1    dc1         r1    NORMAL  -     100.0 %      16      127.0.0.1:8111
n2    dc1         r2    NORMAL  -     100.0 %      16      127.0.0.1:8121
n3    dc1         r3    NORMAL  -     100.0 %      16      127.0.0.1:8131

nothing is silent, moves, or is in doubt here`.trimStart(),
  );
});

test('a member in STANDBY is named, with the command that takes it back', () => {
  const view = { ...calm, members: [member('n1'), member('n2', { state: 'STANDBY' }), member('n3')] };
  const lines = describeCluster(view, [], plain).split('\n');
  expect(lines).toContain('n2    dc1         r2    STANDBY  -     100.0 %      16      127.0.0.1:8121');
  expect(lines.at(-1)).toBe(`n2 is in STANDBY until ${invocation()} standby --return takes it back`);
});

const waiting: InDoubt = {
  transaction_id: 'n2-0-1',
  role: 'branch',
  state: 'prepared',
  coordinator: 'n2',
  branches: ['n1', 'n3'],
  age_ms: 1_234,
};

test('a leaving node, a silent one, one not heard yet, a full disk, and what the node waits for', () => {
  const busy: ClusterView = {
    ...calm,
    store: 'failed',
    members: [
      member('n1', { state: 'LEAVING', move: 'copying', share: 60_560 }),
      member('n2', { state: 'DOWN' }),
      member('n3', { state: 'UNKNOWN' }),
      member('n4', { rack: 'r1', state: 'JOINING', move: 'queued', owns: false, share: 0 }),
    ],
    transfer: {
      ...calm.transfer,
      ranges: 1040,
      ranges_left: 1039,
      waits_for: { members: ['n2', 'n4'], transactions: 1, hints: 2000 },
    },
    held: { seconds: 12, transactions: ['n1-0-7', 'n1-0-9'] },
  };
  expect(describeCluster(busy, [waiting], plain).split('\n').slice(2)).toEqual([
    'node  datacenter  rack  state    move     of its rack  tokens  address',
    'n1    dc1         r1    LEAVING  copying  60.6 %       16      127.0.0.1:8111',
    'n2    dc1         r2    DOWN     -        100.0 %      16      127.0.0.1:8121',
    'n3    dc1         r3    UNKNOWN  -        100.0 %      16      127.0.0.1:8131',
    'n4    dc1         r1    JOINING  queued   -            16      127.0.0.1:8141',
    '',
    'silent: n2',
    'not heard of since n1 started: n3',
    'the store of n1 is failed: it answers reads and takes no writes',
    'n1 is LEAVING: copying',
    'n4 is JOINING: queued',
    'n1 has moved 1 of 1,040 ranges',
    'n1 waits for n2, n4; 1 transaction; 2,000 writes kept for others',
    'for 12 s the ring has not changed here, because of n1-0-7, n1-0-9',
    `1 transaction in doubt here; ${invocation()} transactions list shows which`,
  ]);
});

test('status names the members without a connection, except those of which it says already why', () => {
  const cut: ClusterView = {
    ...calm,
    members: [member('n1'), member('n2'), member('n3', { state: 'DOWN' }), member('n4')],
    refused: [{ node: 'n4', reason: 'version', detail: 'no version in common' }],
    unconnected: ['n2', 'n3', 'n4'],
  };
  expect(describeCluster(cut, [], plain).split('\n').slice(-3)).toEqual([
    'silent: n3',
    'no connection at present: n2',
    'n1 and n4 do not connect: no version in common',
  ]);
  expect(
    findingsOf([{ address: '127.0.0.1:1', view: { ...cut, members: calm.members }, inDoubt: [] }]),
  ).toContainEqual(
    expect.objectContaining({ severity: 'watch', problem: expect.stringContaining('no connection to n2') }),
  );
});

test('a hint store that takes no writes', () => {
  const view: ClusterView = { ...calm, hint_store: 'failed' };
  expect(describeCluster(view, [], plain).split('\n').at(-1)).toBe(
    'n1 keeps no writes for others that miss them: its hint store is failed',
  );
  expect(findingsOf([{ address: '127.0.0.1:1', view, inDoubt: [] }])).toContainEqual(
    expect.objectContaining({ severity: 'wrong', problem: expect.stringContaining('hint store is failed') }),
  );
});

test('branches whose coordinator is no longer a member wait for an operator', () => {
  const orphans = Array.from({ length: 6 }, (_, at) => ({
    ...waiting,
    transaction_id: `n9-0-${at}`,
    coordinator: 'n9',
  }));
  const mine = { ...waiting, transaction_id: 'n1-0-1', role: 'coordinator', coordinator: 'n1' };
  const lines = describeCluster(calm, [mine, waiting, ...orphans], plain)
    .split('\n')
    .slice(7);
  expect(lines[0]).toBe(`8 transactions in doubt here; ${invocation()} transactions list shows which`);
  expect(lines[1]).toBe(
    `n9-0-0 has lost its coordinator: n9 is no longer a member; unless another branch knows the outcome, it waits for ${invocation()} transactions resolve with commit or rollback`,
  );
  expect(lines).toHaveLength(7);
  expect(lines[6]).toBe('and 1 more that wait for a node that is gone');
  const decided = { ...waiting, transaction_id: 'n9-0-7', coordinator: 'n9', state: 'heuristicCommitted' };
  expect(describeCluster(calm, [decided], plain)).toContain(
    `n9-0-7 has lost its coordinator: n9 is no longer a member; it was decided by hand, and is kept until ${invocation()} transactions resolve with abandon`,
  );
  const cut = { ...mine, lost: ['n8'] };
  expect(describeCluster(calm, [cut], plain)).toContain(
    `n1-0-1 has lost its branches at n8; it is committed, and waits for ${invocation()} transactions resolve with abandon`,
  );
});

test('each transaction in doubt is one line, the oldest first', () => {
  const cut: InDoubt = {
    ...waiting,
    transaction_id: 'n1-0-9',
    role: 'coordinator',
    lost: ['n3'],
    age_ms: 61_000,
  };
  expect(`\n${inDoubtTable([waiting, cut])}`).toBe(`
transaction  here         state     coordinator  branches  lost  for
n1-0-9       coordinator  prepared  n2           n1, n3    n3    61.0 s
n2-0-1       branch       prepared  n2           n1, n3    -     1.2 s`);
});

test('a listener that is not a node is named in the error', async () => {
  const server = createServer((_, response) => response.end('welcome'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  try {
    expect(await runLockstep(['node', 'lockstep', 'status', '--node', `127.0.0.1:${port}`])).toBe(1);
    expect(String(said.mock.calls[0])).toContain(
      `http://127.0.0.1:${port} answers no JSON; is that the HTTP listener of a node?`,
    );
  } finally {
    said.mockRestore();
    server.close();
  }
});

/** An HTTP listener that answers with this view and with no transactions in doubt. */
async function withView(view: ClusterView, work: (address: string) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => {
    const isCluster = request.url === '/cluster';
    response.end(JSON.stringify(isCluster ? view : { transactions: [] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  try {
    await work(`127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}`);
  } finally {
    server.close();
  }
}

test('the exit code is 1 for a DOWN member or a store without writes, and --quiet prints nothing', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const down: ClusterView = { ...calm, members: [member('n1', {}), member('n2', { state: 'DOWN' })] };
  const unheard: ClusterView = { ...calm, members: [member('n1', {}), member('n2', { state: 'UNKNOWN' })] };
  const cases: readonly (readonly [ClusterView, number])[] = [
    [calm, 0],
    [down, 1],
    [unheard, 0],
    [{ ...calm, store: 'failed' }, 1],
  ];
  for (const [view, code] of cases) {
    await withView(view, async (address) => {
      for (const more of [[], ['--json'], ['--quiet']]) {
        log.mockClear();
        expect(await runLockstep(['node', 'lockstep', 'status', '--node', address, ...more])).toBe(code);
        expect(log).toHaveBeenCalledTimes(more[0] === '--quiet' ? 0 : 1);
      }
    });
  }
  log.mockRestore();
});
