/** `lockstep load` prints what it found, whatever becomes of its keys afterwards. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';

import { lockstep } from '../operate/operators.fixture.ts';

test('the latencies are printed although the keys cannot be deleted', async () => {
  const server = createServer((request, response) => {
    const { method } = request;
    request.resume().on('end', () => response.writeHead(method === 'DELETE' ? 503 : 204).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const shape = ['--rate', '50', '--for', '200ms', '--reads', '0', '--keys', '3'];
    const ran = await lockstep('load', ...shape, '--clean', '--node', `127.0.0.1:${port}`);
    expect([ran.code, ran.out]).toEqual([1, expect.stringContaining('a second were answered')]);
  } finally {
    server.close();
  }
});
