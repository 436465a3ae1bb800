/** The exit codes of `lockstep tx`: 1 says that nothing was written, 3 that the command does not know the outcome. */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';

import { lockstep } from '../operate/operators.fixture.ts';

const refused = (status: number, code: string, more: Readonly<Record<string, string>> = {}) => {
  return (response: ServerResponse): void =>
    void response.writeHead(status, { 'X-Lockstep-Error': code, ...more }).end('{"detail":"why"}');
};

test.each([
  ['an abort', (response: ServerResponse) => void response.writeHead(409).end('{"outcome":"aborted"}'), 1],
  ['a refusal', refused(400, 'BadRequest'), 1],
  ['an overloaded node', refused(503, 'Overloaded'), 1],
  ['a time that was over before anything was done', refused(503, 'Timeout', { 'X-Lockstep-Definite': 'true' }), 1],
  ['a time that was over', refused(503, 'Timeout'), 3],
  ['a node that failed', refused(500, 'Internal'), 3],
  ['an answer of a proxy in between', (response: ServerResponse) => void response.writeHead(502).end('proxy'), 3],
  ['a lost connection', (response: ServerResponse) => void response.socket?.destroy(), 3],
])('tx after %s ends with its code', async (_, answer, code) => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const ran = await lockstep('tx', '--put', 'b/k=v', '--id', 'a', '--node', `127.0.0.1:${port}`);
    expect(ran.code).toBe(code);
    expect(ran.err.includes('is not known')).toBe(code === 3);
  } finally {
    server.close();
  }
});

test('tx ends with 1 if no node listens', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  expect(await lockstep('tx', '--put', 'b/k=v', '--node', `127.0.0.1:${port}`)).toMatchObject({ code: 1 });
});
