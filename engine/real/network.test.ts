import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { networkContract } from '../io/network.contract.ts';
import type { Connection } from '../io/network.ts';
import { ConnectError } from '../io/network.ts';
import { addressOf, hostPortOf } from './address.ts';
import { machineNetworkHarness } from './network-harness.fixture.ts';
import { RealNetwork } from './network.ts';

const noCut = 'the loopback interface cannot be cut without privileges; sim/world runs this law';

networkContract('machine', () => machineNetworkHarness(), {
  'a cut connection is silent: nothing arrives and nobody is told': noCut,
  'after a cut is healed, bytes arrive in order or the connection breaks': noCut,
});

describe('addresses', () => {
  it('are host and port, IPv6 hosts in brackets', () => {
    expect(hostPortOf('127.0.0.1:80')).toEqual({ host: '127.0.0.1', port: 80 });
    expect(hostPortOf('n1.example:0')).toEqual({ host: 'n1.example', port: 0 });
    expect(hostPortOf('[::1]:8098')).toEqual({ host: '::1', port: 8098 });
    expect(addressOf('::1', 8098)).toBe('[::1]:8098');
    for (const bad of ['', 'host', ':1', 'host:', '::1:80', 'host:99999', 'host:1x']) {
      expect(() => hostPortOf(bad), bad).toThrow(LockstepError);
    }
  });

  it('that a peer sent and that are none cannot be reached', async () => {
    const failing = new RealNetwork().connect('host:99999', 1000);
    await expect(failing).rejects.toEqual(new ConnectError('unreachable', 'host:99999'));
  });
});

describe('the machine joins the writes of one turn', () => {
  it('a turn of small writes arrives in one piece', async () => {
    const network = new RealNetwork();
    const accepted = new Deferred<Connection>();
    const listener = await network.listen('127.0.0.1:0', (connection) => accepted.resolve(connection));
    const client = connect(hostPortOf(listener.address));
    const server = await accepted.promise;
    for (let index = 0; index < 100; index++) server.write(Buffer.from('0123456789'));
    const [first] = await once(client, 'data');
    expect(first).toHaveLength(1000);
    server.destroy();
    client.destroy();
    await listener.close();
  });
});
