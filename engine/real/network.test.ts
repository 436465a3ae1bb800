import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AssertionError } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import type { NetworkHarness, RawPeer } from '../io/network-harness.contract.ts';
import { networkContract } from '../io/network.contract.ts';
import type { Address, Connection, Listener, Network } from '../io/network.ts';
import { addressOf, hostPortOf } from './address.ts';
import { machineHarness } from './machine.contract.ts';
import { RealNetwork, listenOn } from './network.ts';

const noCut = 'the loopback interface cannot be cut without privileges; sim/world runs this law';

networkContract('machine', makeHarness, {
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
      expect(() => hostPortOf(bad), bad).toThrow(AssertionError);
    }
  });
});

describe('the machine joins what one turn writes', () => {
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

async function makeHarness(): Promise<NetworkHarness> {
  const releases: (() => unknown)[] = [];
  const network = tracked(new RealNetwork(), releases);
  return {
    ...machineHarness(releases),
    server: network,
    client: network,
    listenAddress: '127.0.0.1:0',
    vacantAddress: await vacantAddress(),
    // TEST-NET-1 (RFC 5737): no host has it.
    foreignAddress: '192.0.2.1:0',
    silentAddress: () => silentAddress(releases),
    connectRaw: (address) => connectRaw(address, releases),
    faults: undefined,
  };
}

/** The door, with everything that it opens destroyed in the end. */
function tracked(network: Network, releases: (() => unknown)[]): Network {
  const track = (connection: Connection): Connection => {
    releases.push(() => connection.destroy());
    return connection;
  };
  return {
    listen: async (address, onConnection) => {
      const listener: Listener = await network.listen(address, (connection) =>
        onConnection(track(connection)),
      );
      releases.push(() => listener.close());
      return listener;
    },
    connect: async (address, timeoutUs) => track(await network.connect(address, timeoutUs)),
  };
}

async function vacantAddress(): Promise<Address> {
  const server = createServer();
  const address = await listenOn(server, '127.0.0.1:0');
  server.close();
  await once(server, 'close');
  return address;
}

async function connectRaw(address: Address, releases: (() => unknown)[]): Promise<RawPeer> {
  const socket = connect(hostPortOf(address));
  releases.push(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return { write: (bytes) => void socket.write(bytes), reset: () => void socket.resetAndDestroy() };
}

/**
 * A listener whose process is stopped and whose queue of connections is full: the system answers no further SYN.
 */
async function silentAddress(releases: (() => unknown)[]): Promise<Address> {
  const program = `require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () {
    process.stdout.write(String(this.address().port));
  });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  releases.push(() => child.kill('SIGKILL'));
  const [port] = await once(child.stdout, 'data');
  const address = `127.0.0.1:${String(port)}`;
  child.kill('SIGSTOP');
  for (let filled = 0; filled < 20; filled++) {
    if (!(await connects(address, releases))) return address;
  }
  throw new Error('the queue of a stopped listener does not fill up');
}

async function connects(address: Address, releases: (() => unknown)[]): Promise<boolean> {
  const socket: Socket = connect(hostPortOf(address));
  releases.push(() => socket.destroy());
  socket.on('error', () => undefined);
  const outcome = new Deferred<boolean>();
  socket.on('connect', () => outcome.resolve(true));
  const timer = setTimeout(() => outcome.resolve(false), 150);
  const connected = await outcome.promise;
  clearTimeout(timer);
  return connected;
}
