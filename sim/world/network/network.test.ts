/** The laws of the network port in the world; `network-faults.test.ts` has what only the world promises. */
import { networkContract } from '../../../engine/io/network.contract.ts';
import type { NetworkHarness, RawPeer } from '../../../engine/io/network-harness.fixture.ts';
import { ConnectionRecorder } from '../../../engine/io/connection-recorder.fixture.ts';
import { World } from '../world.ts';
import { worldHarness } from '../core/world-harness.fixture.ts';

networkContract('world', makeHarness);

async function makeHarness(seed: number): Promise<NetworkHarness> {
  const world = new World({ seed });
  const server = world.addHost('server').boot();
  const client = world.addHost('client').boot();
  // The machine exists and is switched off: it never answers.
  world.addHost('silent');
  let cut = world.network.partition([], []);
  return {
    ...worldHarness(world, client.clock),
    server: server.network,
    client: client.network,
    listenAddress: 'server:0',
    vacantAddress: 'server:9',
    foreignAddress: 'client:0',
    silentAddress: () => Promise.resolve('silent:80'),
    connectRaw: async (address): Promise<RawPeer> => {
      const connection = await client.network.connect(address, 5_000_000);
      ConnectionRecorder.start(connection);
      return {
        write: (bytes) => void connection.write(bytes),
        reset: () => void world.network.reset('client', 'server', 'right'),
      };
    },
    faults: {
      cut: () => {
        cut = world.network.partition(['client'], ['server']);
      },
      heal: () => cut.lift(),
    },
  };
}
