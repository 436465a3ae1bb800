/**
 * Tests the four paths of the stats listener on a cluster of real processes under load: the JSON and the text of one
 * snapshot agree on every number, on every node.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { TestingCluster } from '../../engine/cli/local-cluster/cluster.fixture.ts';
import { compareStats } from '../check/metrics/stats-agreement.ts';

const basePort = 15_798;
const legacyPaths = ['/', '/info', '/stats'];
/** Number of snapshots that are compared per node. */
const looksPerNode = 3;

let cluster: TestingCluster | undefined;

beforeAll(async () => {
  cluster = await TestingCluster.start(basePort);
});

afterAll(async () => {
  await cluster?.stop();
});

interface Page {
  readonly snapshot: string | null;
  readonly text: string;
}

async function read(origin: string, path: string): Promise<Page> {
  const answer = await fetch(`${origin}${path}`);
  expect([path, answer.status]).toEqual([path, 200]);
  return { snapshot: answer.headers.get('X-Lockstep-Snapshot'), text: await answer.text() };
}

/** All four paths of one snapshot; retries, because a new snapshot may be published between two requests. */
async function readPublication(
  origin: string,
): Promise<{ readonly legacy: readonly string[]; readonly metrics: string }> {
  for (;;) {
    const [metrics, ...legacy] = await Promise.all(
      ['/metrics', ...legacyPaths].map((path) => read(origin, path)),
    );
    if (metrics !== undefined && legacy.every(({ snapshot }) => snapshot === metrics.snapshot)) {
      return { legacy: legacy.map(({ text }) => text), metrics: metrics.text };
    }
  }
}

/** Puts and gets in turn until `watch.over`; resolves with their number. */
async function load(origin: string, name: string, watch: { readonly over: boolean }): Promise<number> {
  let count = 0;
  for (; !watch.over; count++) {
    const url = `${origin}/buckets/load/keys/${name}-${count % 20}`;
    const headers = { 'Content-Type': 'text/plain' };
    const put = await fetch(url, { method: 'PUT', headers, body: `value ${count}` });
    const got = await fetch(url);
    expect([put.status, got.status]).toEqual([204, 200]);
    await got.arrayBuffer();
  }
  return count;
}

test('JSON and text agree on every number of every node, under load', async () => {
  const nodes = cluster?.nodes ?? [];
  expect(nodes).toHaveLength(3);
  const watch = { over: false };
  const loads = nodes.map(({ name, http }) => load(originOf(http), name, watch));
  const writes: number[] = [];
  for (let look = 0; look < looksPerNode; look++) {
    for (const { stats } of nodes) {
      const { legacy, metrics } = await readPublication(originOf(stats));
      expect(new Set(legacy).size, 'the three legacy paths say the same, byte for byte').toBe(1);
      const { compared, differences } = compareStats(legacy[0] ?? '', metrics);
      expect(differences).toEqual([]);
      // 45 fields of the pool, 34 of the server, and the node's own.
      expect(compared).toBeGreaterThan(100);
      writes.push(Number(/^svc_pool_client_write_requests_total\{[^}]*\} (\d+)$/m.exec(metrics)?.[1]));
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  watch.over = true;
  for (const count of await Promise.all(loads)) expect(count).toBeGreaterThan(0);
  // The last sample of each node shows a node under load.
  for (const count of writes.slice(-nodes.length)) expect(count).toBeGreaterThan(0);
});

function originOf(address: string): string {
  return address.startsWith('http') ? address : `http://${address}`;
}
