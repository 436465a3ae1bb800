/** Tests what the client of the data commands asks, and what it says when a node refuses. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';

import { KeptConnections, NodeClient } from '../operate/node-client.ts';
import { ObjectClient } from './object-client.ts';
import { objectNameOf } from './object-name.ts';

test('a put that a node refuses names the reason, although the answer to its first question has no body', async () => {
  const server = createServer((_, response) => response.writeHead(403).end('till is limited to shop:*\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new KeptConnections(1);
  try {
    const { port } = server.address() as AddressInfo;
    const client = new ObjectClient(new NodeClient(`127.0.0.1:${port}`, {}, {}), agent);
    await expect(client.contextOf(objectNameOf('other/x', {}))).rejects.toThrow(
      `http://127.0.0.1:${port} refused: till is limited to shop:*`,
    );
  } finally {
    agent.close();
    server.close();
  }
});

test.each(['', '/behind'])('names of one and two dots stand in the path of a request to %j', async (prefix) => {
  const asked: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    asked.push(url);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new KeptConnections(1);
  try {
    const { port } = server.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}${prefix}`;
    const client = new ObjectClient(new NodeClient(origin, {}, {}), agent);
    for (const name of ['b/..', 'b/.', '../k', 'b/a/../b']) await client.get(objectNameOf(name, {}));
    expect(asked).toEqual(
      ['b/keys/..', 'b/keys/.', '../keys/k', 'b/keys/a%2F..%2Fb'].map((path) => `${prefix}/buckets/${path}`),
    );
  } finally {
    agent.close();
    server.close();
  }
});
