/** Two hosts of a world with one connection between them, for the laws of network faults and incarnations. */
import { present } from '../../../engine/base/assert.ts';
import { ConnectionRecorder } from '../../../engine/io/connection-recorder.fixture.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { Connection } from '../../../engine/io/network.ts';
import type { TuningChange } from '../core/tuning.ts';
import { World } from '../world.ts';

/** One end of the connection: the host's ports, the connection, and a record of what arrived. */
export interface Side {
  readonly io: Io;
  readonly connection: Connection;
  readonly heard: ConnectionRecorder;
}

/** The world and both ends. */
export interface Talkers {
  readonly world: World;
  /** The end that connects to `b`. */
  readonly a: Side;
  readonly b: Side;
  /** Lets `ms` milliseconds pass. */
  pass(ms: number): Promise<void>;
}

/** A latency within a millisecond, so that laws can count; a small window. */
const quick: TuningChange = {
  network: {
    latency: { minUs: 200, meanUs: 0, tailOneIn: 0, tailUs: 0 },
    splitOneIn: 0,
    windowBytes: 10_000,
    highWaterBytes: 5000,
    retransmissionUs: [15_000_000, 60_000_000],
  },
};

/** Creates the world, both hosts and the connection. */
export async function talkers(seed: number | string, tuning: TuningChange = quick): Promise<Talkers> {
  const world = new World({ seed, tuning });
  const [a, b] = ['a', 'b'].map((name) => world.addHost(name).boot());
  const accepted: Connection[] = [];
  const server = present(b, 'b');
  const client = present(a, 'a');
  const opening = server.network
    .listen('b:1', (connection) => void accepted.push(connection))
    .then(() => client.network.connect('b:1', 1_000_000));
  await world.runUntil(opening, 1_000_000);
  const connection = await opening;
  await world.runUntil(() => accepted.length > 0, 1_000_000);
  return {
    world,
    a: sideOf(client, connection),
    b: sideOf(server, present(accepted[0], 'the accepted connection')),
    pass: (ms) => world.run({ untilUs: world.nowUs + ms * 1000 }),
  };
}

function sideOf(io: Io, connection: Connection): Side {
  return { io, connection, heard: ConnectionRecorder.start(connection) };
}
