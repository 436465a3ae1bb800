/**
 * Traces of three nodes on real sockets, as a collector receives them: OTLP over HTTP, one tree per request. A collector
 * that refuses or is absent costs spans, never requests.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { present } from '../../base/assert.ts';
import { parseConfig } from '../../config/config.ts';
import { Node } from '../../node/node.ts';
import { createRealIo } from '../../real/io.ts';

const peerPorts = [23_431, 23_441, 23_451];
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerId = '00f067aa0ba902b7';

/** A span of a request body, as OTLP's JSON has it, with the node that sent it. */
interface Received {
  readonly node: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Omit<Received, 'node'>[] }[];
  }[];
}

let directory: string;
let collector: Server;
let status = 200;
const received: Received[] = [];
const paths = new Set<string>();
let nodes: Node[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-traces-'));
  received.length = 0;
  status = 200;
  collector = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      paths.add(`${request.method} ${request.url}`);
      if (status === 200) take(JSON.parse(text) as Batch);
      response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  nodes = [];
  collector.closeAllConnections();
  collector.close();
  rmSync(directory, { recursive: true, force: true });
});

function take({ resourceSpans }: Batch): void {
  for (const { resource, scopeSpans } of resourceSpans) {
    const id = resource.attributes.find(({ key }) => key === 'service.instance.id');
    const node = present(id?.value.stringValue, 'the name of a node');
    for (const { spans } of scopeSpans) received.push(...spans.map((span) => ({ ...span, node })));
  }
}

async function start(keys: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { port } = collector.address() as AddressInfo;
  const seeds = peerPorts.map((at, index) => {
    return { name: `n${index + 1}`, address: `127.0.0.1:${at}`, datacenter: 'dc1', rack: `r${index + 1}` };
  });
  nodes = await Promise.all(
    peerPorts.map((at, index) => {
      const home = join(directory, `n${index + 1}`);
      mkdirSync(home);
      const given = {
        ...{ name: `n${index + 1}`, rack: `r${index + 1}`, seeds, log_level: 'error' },
        ...{ listen: '127.0.0.1:0', pb_listen: 'off', stats_listen: 'off', peer_listen: `127.0.0.1:${at}` },
        ...{ otel_endpoint: `http://127.0.0.1:${port}`, otel_sample_ratio: 0, ...keys },
      };
      const config = parseConfig(stringify({ traced: given }), {}, 'traces.yaml');
      return Node.start(createRealIo({ dataDirectory: home, logLevel: 'error', node: config.name }), config);
    }),
  );
}

async function put(key: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const address = present(nodes[0]?.addresses.http, 'an address');
  const answer = await fetch(`http://${address}/buckets/b/keys/${key}?w=all`, {
    method: 'PUT',
    headers: { 'Content-Type': 'text/plain', ...headers },
    body: 'value',
  });
  return answer.status;
}

function counted(index: number): Readonly<Record<string, number>> {
  const { families } = present(nodes[index], 'a node').statistics();
  const { samples = [] } = families.find(({ family }) => family.name === 'svc_trace_spans_total') ?? {};
  return Object.fromEntries(samples.map(({ labels, value }) => [String(labels['outcome']), value]));
}

function childrenOf(id: string): readonly Received[] {
  return received.filter(({ parentSpanId }) => parentSpanId === id);
}

test('the collector gets one tree of a put: client, dispatch, replicas on all nodes, and their syncs', async () => {
  await start();
  expect(await put('traced', { traceparent: `00-${traceId}-${callerId}-01` })).toBe(204);
  expect(await put('untraced', {})).toBe(204);
  await Promise.all(nodes.splice(0).map((node) => node.stop()));
  expect([...paths]).toEqual(['POST /v1/traces']);
  expect(new Set(received.map((span) => span.traceId))).toEqual(new Set([traceId]));
  const [client, ...more] = childrenOf(callerId);
  expect([client?.name, client?.node, more]).toEqual(['client put', 'n1', []]);
  const [dispatch] = childrenOf(present(client, 'a span').spanId);
  expect([dispatch?.name, dispatch?.node]).toEqual(['dispatch', 'n1']);
  const replicas = childrenOf(present(dispatch, 'a span').spanId);
  expect(replicas.map(({ node, name }) => `${node} ${name}`).sort()).toEqual([
    'n1 replica',
    'n2 replica mergeObject',
    'n3 replica mergeObject',
  ]);
  for (const { spanId, node } of replicas) {
    expect(childrenOf(spanId).map((span) => [span.node, span.name])).toEqual([[node, 'sync']]);
  }
  for (const { startTimeUnixNano: from, endTimeUnixNano: to } of received) {
    expect(BigInt(to)).toBeGreaterThanOrEqual(BigInt(from));
    expect(Math.abs(Number(BigInt(from) / 1_000_000n) - Date.now())).toBeLessThan(600_000);
  }
});

test('spans that the collector refuses are counted as failed, and requests succeed', async () => {
  status = 400;
  await start({ otel_sample_ratio: 1 });
  for (let key = 0; key < 5; key++) expect(await put(`k${key}`, {})).toBe(204);
  const first = nodes.map((node) => node);
  await Promise.all(first.map((node) => node.stop()));
  expect(counted(0)['failed']).toBeGreaterThan(0);
  expect([counted(0)['exported'], counted(0)['dropped']]).toEqual([0, 0]);
});
