/**
 * Tests the error of a request whose quorum is not met, in Riak's terms: which parameter asked for more answers than
 * there are, and how many there are. Covers HTTP and the binary protocol, right after the loss of a replica and once it
 * is known to be down.
 */
import { beforeAll, describe, expect, it } from 'vitest';

import type { ClientReply, ClientRequest } from '../../../engine/api/pbc/client-codec.ts';
import { present } from '../../../engine/base/assert.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { routeToken } from '../../../engine/cluster/ring/token.ts';
import type { Io } from '../../../engine/io/io.ts';
import { PbConnection } from '../../workload/pb-connection.ts';
import { JobHarness } from './job-harness.ts';

const asked = 'n1';
const victim = 'n2';

class Cluster {
  readonly room = new JobHarness('unmet', { gossip_interval_ms: 200 });
  #io: Io | undefined;

  async start(): Promise<void> {
    await this.room.start();
    await this.room.fill('things', 40, (index) => JSON.stringify({ n: index }));
    this.#io = this.room.world.addHost('c2').boot();
  }

  /** A key of which both the asked node and the victim have a copy. */
  key(): string {
    for (let index = 0; ; index++) {
      const token = routeToken('STD', byteStringOf('things'), byteStringOf(`k${index}`));
      const owners = this.room.cluster.ring.placement(token).map(({ node }) => String(node));
      if (owners.includes(asked) && owners.includes(victim)) return `k${index}`;
    }
  }

  /** Status and first line. */
  async http(method: 'GET' | 'PUT' | 'DELETE', path: string): Promise<string> {
    const headers = { 'Content-Type': 'text/plain' };
    const more = method === 'PUT' ? { headers, body: 'v' } : {};
    const { status, text } = await this.room.call(asked, method, path, more);
    return `${status} ${text.split('\n')[0] ?? ''}`;
  }

  async pb(request: ClientRequest): Promise<ClientReply> {
    const talk = async (): Promise<ClientReply> => {
      const address = this.room.cluster.address(asked, 'pb');
      const connection = await PbConnection.open(present(this.#io, 'a host'), { address }, 1_000_000);
      const exchange = await connection.ask(request, 20_000_000);
      connection.close();
      if (exchange.kind === 'lost') throw new Error(exchange.reason);
      return exchange.answer;
    };
    const talking = talk();
    await this.room.world.runUntil(talking, 30_000_000);
    return talking;
  }
}

describe('a quorum that is not met', () => {
  const cluster = new Cluster();
  let key = '';
  let path = '';
  beforeAll(async () => {
    await cluster.start();
    key = cluster.key();
    path = `/buckets/things/keys/${key}`;
    cluster.room.cluster.crash(victim, 'dropAll', 'reset');
  });

  const all = [
    ['GET', 'r=3', 'R-value unsatisfied: 2/3'],
    ['GET', 'pr=3', 'PR-value unsatisfied: 2/3'],
    ['GET', 'r=3&pr=3', 'PR-value unsatisfied: 2/3'],
    ['GET', 'r=all&pr=1', 'R-value unsatisfied: 2/3'],
    ['GET', 'node_confirms=3', 'node_confirms-value unsatisfied: 2/3'],
    ['PUT', 'w=3', 'W-value unsatisfied: 2/3'],
    ['PUT', 'dw=3', 'DW-value unsatisfied: 2/3'],
    ['PUT', 'pw=3', 'PW-value unsatisfied: 2/3'],
    ['PUT', 'w=2&dw=all&pw=all', 'PW-value unsatisfied: 2/3'],
    ['PUT', 'w=3&dw=1&pw=2', 'W-value unsatisfied: 2/3'],
    ['DELETE', 'pr=3', 'PR-value unsatisfied: 2/3'],
    ['DELETE', 'pw=3', 'PW-value unsatisfied: 2/3'],
  ] as const;

  async function compareAll(): Promise<void> {
    // A deletion with an unmet quorum may have been applied.
    expect(await cluster.http('PUT', path)).toBe('204 ');
    for (const [method, query, text] of all)
      expect([method, query, await cluster.http(method, `${path}?${query}`)]).toEqual([
        method,
        query,
        `503 ${text}`,
      ]);
  }

  it('is named over HTTP with the answers that there are, while the loss is not known yet', async () => {
    await compareAll();
  });

  it('is reported as for Riak’s absent object where too few replicas report none', async () => {
    let absent = '';
    for (let index = 100; absent === ''; index++) {
      const token = routeToken('STD', byteStringOf('things'), byteStringOf(`k${index}`));
      const owners = cluster.room.cluster.ring.placement(token).map(({ node }) => String(node));
      if (owners.includes(asked) && owners.includes(victim)) absent = `k${index}`;
    }
    const text = await cluster.http('GET', `/buckets/things/keys/${absent}?r=1&notfound_ok=false`);
    expect(text).toBe('503 R-value unsatisfied: 0/1');
  });

  it('is the same once the replica is known to be down, and a term of Riak’s in the binary protocol', async () => {
    await cluster.room.pass(20_000_000);
    await compareAll();
    const place = { bucket: Buffer.from('things'), key: Buffer.from(key) };
    const content = { value: Buffer.from('v') };
    const requests: readonly (readonly [ClientRequest, string])[] = [
      [{ kind: 'get', message: { ...place, r: 3 } }, '{r_val_unsatisfied,3,2}'],
      [{ kind: 'get', message: { ...place, pr: 3 } }, '{pr_val_unsatisfied,3,2}'],
      [{ kind: 'put', message: { ...place, content, w: 3 } }, '{w_val_unsatisfied,3,2}'],
      [{ kind: 'put', message: { ...place, content, dw: 3 } }, '{dw_val_unsatisfied,3,2}'],
      [{ kind: 'put', message: { ...place, content, pw: 3 } }, '{pw_val_unsatisfied,3,2}'],
      [{ kind: 'delete', message: { ...place, pw: 3 } }, '{pw_val_unsatisfied,3,2}'],
    ];
    for (const [request, text] of requests)
      expect(await cluster.pb(request)).toMatchObject({ kind: 'failed', code: 'NoQuorum', text });
  });
});
