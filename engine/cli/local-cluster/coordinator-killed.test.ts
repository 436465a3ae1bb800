/**
 * Transfers between accounts through all nodes of a real cluster, while one node, with all that it coordinates, is
 * killed at a random moment (`kill -9`) and started again: money is neither made nor lost, and nothing stays in doubt.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';

import { present } from '../../base/assert.ts';
import type { TestingNode } from './cluster.fixture.ts';
import { TestingCluster } from './cluster.fixture.ts';

const accounts = Array.from({ length: 12 }, (_, index) => `account-${index}`);
const opening = 100;
const clientCount = 6;

let cluster: TestingCluster | undefined;
beforeAll(async () => {
  cluster = await TestingCluster.start(15_498);
});
afterAll(() => cluster?.stop());

const random = (below: number): number => Math.floor(Math.random() * below);

async function transact({ http }: TestingNode, operations: readonly object[]): Promise<string> {
  const response = await fetch(`http://${http}/buckets/bank/transactions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ operations, timeout_ms: 3000 }),
  });
  const { outcome } = (await response.json()) as { readonly outcome?: string };
  return outcome ?? String(response.status);
}

interface Balance {
  readonly amount: number;
  readonly context: string;
}

/** The balance; undefined if the primary does not answer now. */
async function balanceOf({ http }: TestingNode, account: string): Promise<Balance | undefined> {
  const response = await fetch(`http://${http}/buckets/bank/keys/${account}?r=primary`);
  const amount = Number(await response.text());
  if (response.status !== 200) return undefined;
  return { amount, context: response.headers.get('x-riak-vclock') ?? '' };
}

const put = (key: string, amount: number, condition: object): object => ({
  op: 'put',
  key,
  value: String(amount),
  ...condition,
});

/** Makes one transfer between two accounts; resolves with its outcome. */
async function transfer(node: TestingNode): Promise<string> {
  const from = random(accounts.length);
  const names = [from, (from + 1 + random(accounts.length - 1)) % accounts.length].map((index) =>
    present(accounts[index], 'an account'),
  );
  const [giver, taker] = await Promise.all(names.map((name) => balanceOf(node, name)));
  if (giver === undefined || taker === undefined) return 'unread';
  const sum = 1 + random(9);
  return transact(node, [
    put(names[0] ?? '', giver.amount - sum, { if_match: giver.context }),
    put(names[1] ?? '', taker.amount + sum, { if_match: taker.context }),
  ]);
}

it('a coordinator killed during transfers loses no money and leaves no transaction in doubt', async () => {
  const running = present(cluster, 'a cluster');
  const { nodes } = running;
  const victim = present(nodes[random(nodes.length)], 'a node');
  const opened = accounts.map((key) => put(key, opening, { if_absent: true }));
  expect(await transact(present(nodes[0], 'a node'), opened)).toBe('committed');

  const outcomes = new Map<string, number>();
  const count = (outcome: string): number => outcomes.get(outcome) ?? 0;
  let over = false;
  const clients = Array.from({ length: clientCount }, async (_, client) => {
    for (let turn = client; !over; turn++) {
      const node = present(nodes[turn % nodes.length], 'a node');
      const outcome = await transfer(node).catch(() => 'unanswered');
      outcomes.set(outcome, count(outcome) + 1);
    }
  });
  const until = (condition: () => boolean): Promise<void> =>
    expect.poll(condition, { timeout: 300_000, interval: 2 }).toBe(true);

  const before = 20 + random(60);
  await until(() => count('committed') >= before);
  process.kill(victim.pid, 'SIGKILL');
  const atDeath = count('unanswered');
  await until(() => count('unanswered') > atDeath);
  await running.restart(victim);
  const returned = count('committed');
  await until(() => count('committed') >= returned + 20);
  over = true;
  await Promise.all(clients);

  for (const { http } of nodes) {
    const inDoubt = async (): Promise<unknown> =>
      (await fetch(`http://${http}/transactions?state=in_doubt`)).json();
    await expect.poll(inDoubt, { timeout: 300_000 }).toEqual({ transactions: [] });
  }
  for (const node of nodes) {
    const total = async (): Promise<number> => {
      const balances = await Promise.all(accounts.map((account) => balanceOf(node, account)));
      return balances.reduce((sum, balance) => sum + (balance?.amount ?? NaN), 0);
    };
    await expect.poll(total, { timeout: 300_000 }).toBe(accounts.length * opening);
  }
});
