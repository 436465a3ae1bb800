import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';

import { expect, it } from 'vitest';

import { ThrowAwayAuthority } from './throw-away-certificates.ts';

it('a client that trusts two authorities accepts certificates of either', async () => {
  const authorities = [await ThrowAwayAuthority.make(), await ThrowAwayAuthority.make()];
  const trusted = authorities.map(({ pem }) => pem).join('');
  for (const authority of authorities) {
    const server = createServer(await authority.issue('n1')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect({ host: '127.0.0.1', port, ca: trusted });
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    socket.destroy();
    server.close();
  }
});
