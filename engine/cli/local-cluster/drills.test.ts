/**
 * Two drills on real processes. First, a node is killed and returns, and the metrics of another node show both. Second,
 * two clients write one key on two sides of a partition, and a read returns both values. SIGSTOP makes the partition: a
 * stopped process neither receives nor sends. `npm test` builds first.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { present } from '../../base/assert.ts';
import type { TestingNode } from './cluster.fixture.ts';
import { TestingCluster } from './cluster.fixture.ts';

/** Nodes call a silent peer DOWN within ten seconds instead of nineteen. With less, a busy node would seem dead. */
const variables = { LOCKSTEP_GOSSIP_INTERVAL_MS: '500', LOCKSTEP_PHI_MEAN_MS_MIN: '500' };
const patience = { timeout: 300_000, interval: 200 };

let cluster: TestingCluster;
/** The process id of n2's current incarnation; undefined until the first test has run. */
let pidOfN2: number | undefined;

function node(index: number): TestingNode {
  return present(cluster.nodes[index], 'a node');
}

beforeAll(async () => {
  cluster = await TestingCluster.startWith(variables, 16_098);
});

afterAll(async () => {
  await cluster.stop();
});

/** How often the node's metrics count that its peer of that number went from one state to another. */
async function transitions(by: TestingNode, peerIndex: number): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`http://${by.stats}/metrics`)).text();
  const form = new RegExp(
    `^peer_state_transitions_total\\{peer_idx="${peerIndex}",from_state="(\\w+)",to_state="(\\w+)"\\} (\\d+)$`,
    'gm',
  );
  const found = [...text.matchAll(form)].map(
    ([, from, to, count]) => [`${from}>${to}`, Number(count)] as const,
  );
  return Object.fromEntries(found.filter(([, count]) => count > 0));
}

function write(to: TestingNode, value: string, vclock?: string): Promise<Response> {
  const headers = {
    'Content-Type': 'text/plain',
    ...(vclock === undefined ? {} : { 'X-Riak-Vclock': vclock }),
  };
  return fetch(`http://${to.http}/buckets/opinions/keys/k?w=1`, { method: 'PUT', headers, body: value });
}

describe('a cluster of real processes', () => {
  it('counts a kill -9 as NORMAL>DOWN and the return as DOWN>RESET>NORMAL; lockstep status shows it', async () => {
    const [n1, n2] = [node(0), node(1)];
    expect(await transitions(n1, 1)).toEqual({ 'UNKNOWN>NORMAL': 1 });
    const status = async (): Promise<string> => {
      const { stdout, code } = await TestingCluster.command('status', '--node', n1.http);
      return `${code} ${stdout}`;
    };
    const quiet = /^0 [^]*nothing is silent, moves, or is in doubt here/;
    expect(await status()).toMatch(quiet);
    process.kill(n2.pid, 'SIGKILL');
    await expect.poll(() => transitions(n1, 1), patience).toEqual({ 'UNKNOWN>NORMAL': 1, 'NORMAL>DOWN': 1 });
    expect(await status()).toMatch(/^1 [^]*silent: n2/);
    pidOfN2 = await cluster.restart(n2);
    const all = { 'UNKNOWN>NORMAL': 1, 'NORMAL>DOWN': 1, 'DOWN>RESET': 1, 'RESET>NORMAL': 1 };
    await expect.poll(() => transitions(n1, 1), patience).toEqual(all);
    expect(await status()).toMatch(/^0 [^]*nothing is silent/);
  });

  it('returns both values that were written on the two sides of a partition, as siblings', async () => {
    const [n1, n2, n3] = [node(0), node(1), node(2)];
    // A signal to process 0 would stop this process and everything that started it.
    const pids = [n1.pid, present(pidOfN2, 'a process of n2'), n3.pid] as const;
    const props = JSON.stringify({ props: { allow_mult: true } });
    const headers = { 'Content-Type': 'application/json' };
    const set = await fetch(`http://${n1.http}/buckets/opinions/props`, {
      method: 'PUT',
      headers,
      body: props,
    });
    expect(set.status).toBe(204);
    expect((await write(n1, 'before')).status).toBe(204);
    const base = await fetch(`http://${n1.http}/buckets/opinions/keys/k`);
    const vclock = present(base.headers.get('X-Riak-Vclock') ?? undefined, 'a context');
    try {
      process.kill(pids[1], 'SIGSTOP');
      process.kill(pids[2], 'SIGSTOP');
      expect((await write(n1, 'here', vclock)).status).toBe(204);
      process.kill(pids[0], 'SIGSTOP');
      process.kill(pids[1], 'SIGCONT');
      expect((await write(n2, 'there', vclock)).status).toBe(204);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    for (const by of [n1, n2, n3]) {
      const read = async (): Promise<string> => {
        const url = `http://${by.http}/buckets/opinions/keys/k?r=3`;
        const answer = await fetch(url, { headers: { Accept: 'multipart/mixed' } });
        const text = await answer.text();
        const values = ['before', 'here', 'there'].filter((value) => text.includes(`\r\n${value}\r\n`));
        return `${answer.status} ${values.join(' ')}`;
      };
      await expect.poll(read, patience).toBe('300 here there');
    }
  });
});
