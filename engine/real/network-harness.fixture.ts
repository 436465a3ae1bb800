/** The harness of the network laws over the machine's implementation, with or without TLS. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { connect as secureConnect } from 'node:tls';
import { Deferred } from '../base/deferred.ts';
import type { NetworkHarness, RawPeer } from '../io/network-harness.fixture.ts';
import type { Address, Connection, Listener, Network } from '../io/network.ts';
import { hostPortOf } from './address.ts';
import { machineHarness } from './machine.fixture.ts';
import { RealNetwork, listenOn } from './network.ts';
import type { TlsIdentity } from './tls.ts';

/** With `tls`, both hosts show the same certificate. */
export async function machineNetworkHarness(tls?: TlsIdentity): Promise<NetworkHarness> {
  const releases: (() => unknown)[] = [];
  const network = tracked(new RealNetwork(tls), releases);
  return {
    ...machineHarness(releases),
    server: network,
    client: network,
    listenAddress: '127.0.0.1:0',
    vacantAddress: await vacantAddress(),
    // TEST-NET-1 (RFC 5737): no host has it.
    foreignAddress: '192.0.2.1:0',
    silentAddress: () => silentAddress(releases),
    connectRaw: (address) => connectRaw(address, releases, tls?.clientOptions()),
    faults: undefined,
  };
}

/** The network, with every connection and listener it opens released at the end. */
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

async function connectRaw(
  address: Address,
  releases: (() => unknown)[],
  tls: ConnectionOptions | undefined,
): Promise<RawPeer> {
  const carrier = connect(hostPortOf(address));
  releases.push(() => carrier.destroy());
  carrier.on('error', () => undefined);
  await once(carrier, 'connect');
  const reset = (): void => void carrier.resetAndDestroy();
  if (tls === undefined) return { write: (bytes) => void carrier.write(bytes), reset };
  const socket = secureConnect({ ...tls, socket: carrier });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return { write: (bytes) => void socket.write(bytes), reset };
}

/** The address of a listener whose process is stopped and whose backlog is full: the system answers no further SYN. */
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
  const timer = setTimeout(() => outcome.resolve(false), 2000);
  const connected = await outcome.promise;
  clearTimeout(timer);
  return connected;
}
