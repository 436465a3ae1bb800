/**
 * Tests the traces of requests over three nodes in the world: each traced request is one tree, whose replicas' spans are
 * below the span of the dispatch that asked them, and an untraced request has no span on any node.
 */
import { beforeEach, describe, expect, test } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import type { Span } from '../../../engine/base/request-trace.ts';
import { MemberHarness, second } from '../cluster/member-harness.ts';

const settings = {
  aae_enabled: false,
  gossip_interval_ms: 200,
  otel_endpoint: 'http://collector:4318',
  otel_sample_ratio: 0,
};
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerId = '00f067aa0ba902b7';

let cluster: MemberHarness;

beforeEach(async () => {
  cluster = new MemberHarness('traces', 3, settings);
  await cluster.startAll();
});

/** Each span with the node that ended it. */
function spans(): readonly { readonly node: string; readonly span: Span }[] {
  return cluster.world.hosts.flatMap(({ name, tracing }) =>
    tracing.spans.map((span) => ({ node: name, span })),
  );
}

async function traced(method: 'PUT' | 'GET', path: string, header: string, body?: string): Promise<number> {
  const headers = { traceparent: header, 'content-type': 'text/plain' };
  const request = { method, path, headers, ...(body === undefined ? {} : { body }) };
  const host = cluster.world.hosts.find(({ name }) => name === 'caller') ?? cluster.world.addHost('caller');
  if (!host.alive) host.boot();
  const answer = cluster.world
    .httpClient(host)
    .request(cluster.cluster.address('n1', 'http'), request, 5 * second);
  await cluster.world.runUntil(answer, 10 * second);
  await cluster.pass(second);
  return (await answer).status;
}

/** The tree below a span: names, nodes and operations, children in the order of their start and then their node. */
function tree(parentId: string): readonly object[] {
  return spans()
    .filter(({ span }) => span.parent?.spanId === parentId)
    .sort((a, b) => a.node.localeCompare(b.node, 'en') || a.span.startUs - b.span.startUs)
    .map(({ node, span }) => ({
      [`${span.name}@${node}`]: tree(span.spanId),
    }));
}

describe('a traced put', () => {
  test('is one tree: client, dispatch, a replica on every node, and the sync below each', async () => {
    const status = await traced('PUT', '/buckets/b/keys/k?w=all', `00-${traceId}-${callerId}-01`, 'value');
    expect(status).toBe(204);
    expect(spans().every(({ span }) => span.traceId === traceId)).toBe(true);
    expect(tree(callerId)).toEqual([
      {
        'client@n1': [
          {
            'dispatch@n1': ['n1', 'n2', 'n3'].map((node) => ({
              [`replica@${node}`]: [{ [`sync@${node}`]: [] }],
            })),
          },
        ],
      },
    ]);
  });

  test('has the times of its steps within those of the step above, on one node', async () => {
    await traced('PUT', '/buckets/b/keys/k?w=all', `00-${traceId}-${callerId}-01`, 'value');
    const own = spans().filter(({ node }) => node === 'n1');
    for (const { span } of own) {
      const above = own.find(({ span: other }) => other.spanId === span.parent?.spanId)?.span;
      if (above === undefined) continue;
      expect(span.startUs).toBeGreaterThanOrEqual(above.startUs);
      if (span.name !== 'replica') expect(span.endUs).toBeLessThanOrEqual(above.endUs);
    }
    const client = present(
      own.find(({ span }) => span.name === 'client'),
      'a span',
    ).span;
    expect(client.attributes).toEqual({ operation: 'put', protocol: 'http', bucket: 'b' });
  });
});

test.each([
  ['/types/nowhere/buckets/b/keys/k', 404, 'NotFound'],
  ['/buckets/b/keys/k?w=seven', 400, 'BadRequest'],
])(
  'a traced put to %s, refused before it is dispatched, is one span with the reason',
  async (path, status, failure) => {
    expect(await traced('PUT', path, `00-${traceId}-${callerId}-01`, 'value')).toBe(status);
    expect(spans().map(({ span }) => [span.name, span.failure])).toEqual([['client', failure]]);
  },
);

test('a traced read has a span of each replica that it asks, and no sync', async () => {
  await traced('PUT', '/buckets/b/keys/k?w=all', `00-${traceId}-${callerId}-00`, 'value');
  expect(spans()).toEqual([]);
  expect(await traced('GET', '/buckets/b/keys/k', `00-${traceId}-${callerId}-01`)).toBe(200);
  const names = spans().map(({ span }) => span.name);
  expect(names.filter((name) => name === 'replica').length).toBeGreaterThanOrEqual(2);
  expect(names.filter((name) => name === 'sync')).toEqual([]);
  const dispatch = present(
    spans().find(({ span }) => span.name === 'dispatch'),
    'a span',
  ).span;
  for (const { span } of spans())
    if (span.name === 'replica') expect(span.parent?.spanId).toBe(dispatch.spanId);
});

test('a request that no caller traces is sampled by the ratio alone, and a malformed header counts as none', async () => {
  await traced('PUT', '/buckets/b/keys/k', 'not a traceparent', 'value');
  expect(spans()).toEqual([]);
  const all = new MemberHarness('traces', 3, { ...settings, otel_sample_ratio: 1 });
  cluster = all;
  await all.startAll();
  await traced('PUT', '/buckets/b/keys/k?w=all', 'not a traceparent', 'value');
  const roots = spans().filter(({ span }) => span.parent === undefined);
  expect(roots.map(({ span }) => span.name)).toEqual(['client']);
  const [root] = roots;
  expect(tree(present(root, 'a span').span.spanId)).toHaveLength(1);
  expect(await all.count('n1', 'svc_trace_spans_total', { outcome: 'exported' })).toBe(
    spans().filter(({ node }) => node === 'n1').length,
  );
});

test('a write whose node holds no replica is forwarded, and the trace goes on at the node that coordinates it', async () => {
  const one = new MemberHarness('traces', 3, { ...settings, otel_sample_ratio: 1 }, 1);
  cluster = one;
  await one.startAll();
  for (let key = 0; key < 6; key++) await traced('PUT', `/buckets/b/keys/k${key}`, '', 'value');
  const forwarded = spans().filter(({ span }) => span.name === 'dispatch' && span.isParentRemote);
  expect(forwarded.length).toBeGreaterThan(0);
  for (const { node, span } of forwarded) {
    const above = present(
      spans().find(({ span: other }) => other.spanId === span.parent?.spanId),
      'a span',
    );
    expect([above.node, above.span.name]).toEqual(['n1', 'dispatch']);
    expect(tree(span.spanId)).toEqual([{ [`replica@${node}`]: [{ [`sync@${node}`]: [] }] }]);
  }
});
