/** Laws of the tracing port on a machine: bounded memory, whatever the collector does. */
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';

import { TestLog } from '../api/testing/test-io.fixture.ts';
import type { Span } from '../base/request-trace.ts';
import { createRealTracing, spansMax } from './tracing.ts';

const span: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parent: undefined,
  isParentRemote: false,
  name: 'client',
  kind: 'server',
  startUs: 1,
  endUs: 2,
  attributes: {},
  failure: undefined,
};
const place = { cluster: 'c', node: 'n1', datacenter: 'dc1', rack: 'r1', version: '0' };

test('spans beyond the limit are dropped and counted while the collector answers nothing', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const sink = createRealTracing(new TestLog()).open({ ...place, url: `http://127.0.0.1:${port}/v1/traces` });
  for (let count = 0; count < spansMax + 10; count++) sink.ended(span);
  expect(sink.counts()).toEqual({ exported: 0, failed: 0, dropped: 10 });
  silent.close();
});

test('the loss of the collector is logged once', async () => {
  const refusing = createHttpServer((_, response) => void response.writeHead(400).end());
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  const { port } = refusing.address() as AddressInfo;
  const log = new TestLog();
  const sink = createRealTracing(log).open({ ...place, url: `http://127.0.0.1:${port}/v1/traces` });
  for (let count = 0; count < 1000; count++) sink.ended(span);
  await sink.close();
  expect(log.names).toEqual(['tracing.export.failed']);
  expect(sink.counts()).toEqual({ exported: 0, failed: 1000, dropped: 0 });
  refusing.close();
});
