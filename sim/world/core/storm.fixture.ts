/**
 * A storm over five small servers that exchange messages, write files and log. Every part of the world takes part, so
 * the digest stands for all of them. Tests also run it compiled, in a separate thread.
 */
import type { Io } from '../../../engine/io/io.ts';
import type { Connection, ConnectionHandler } from '../../../engine/io/network.ts';
import { sleep } from '../../../engine/io/clock.ts';
import { exponentialLatency } from './latency.ts';
import type { Survival } from '../cluster/host.ts';
import { World } from '../world.ts';

/** The outcome of a storm. */
export interface Storm {
  readonly digest: string;
  readonly events: number;
  readonly failures: readonly string[];
  readonly ledger: string;
}

const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
const survivals: readonly Survival[] = ['keepAll', 'dropAll', 'subset', 'prefix', 'torn'];
const endUs = 3_000_000;

/** Runs one storm; the same seed gives the same one. */
export async function storm(seed: number, record?: (line: string) => void): Promise<Storm> {
  const world = new World({ seed, ...(record === undefined ? {} : { record }) });
  const random = world.random.fork('storm');
  for (const name of names) world.addHost(name, { driftPpm: random.below(400) - 200 });
  for (const name of names) boot(world, name);
  for (let atUs = 100_000; atUs < endUs; atUs += 1 + random.below(200_000)) {
    world.at(atUs, 'fault', () => strike(world, random.below(6)));
  }
  await world.run({ untilUs: endUs });
  return {
    digest: world.digest(),
    events: world.eventCount,
    failures: world.failures.map(({ what, error }) => `${what}: ${String(error)}`),
    ledger: JSON.stringify(world.ledger.lines()),
  };
}

function strike(world: World, kind: number): void {
  const random = world.random.fork(`strike/${world.nowUs}`);
  const turn = random.below(names.length);
  const [first = 'n1', second = 'n2', ...rest] = [...names.slice(turn), ...names.slice(0, turn)];
  const victim = world.mustGetHost(first);
  const lifted = (lasting: { lift(): void }): void =>
    void world.after(random.below(400_000), 'lift', () => lasting.lift());
  if (kind === 0) lifted(world.network.partition([first, second], rest));
  else if (kind === 1) lifted(world.network.partitionOneWay([first], [second]));
  else if (kind === 2) lifted(world.network.slow([first], names, exponentialLatency(5000, 20_000)));
  else if (kind === 3) world.network.reset(first, second);
  else if (kind === 4 && victim.alive) {
    victim.crash(survivals[random.below(5)] ?? 'torn', random.chance(1, 2) ? 'reset' : 'silent');
    world.after(random.below(300_000), 'boot', () => boot(world, first));
  } else if (victim.alive && !victim.paused) {
    victim.pause();
    const { lives } = victim;
    world.after(random.below(50_000), 'resume', () => {
      if (victim.lives === lives && victim.alive) victim.resume();
    });
  }
}

function boot(world: World, name: string): void {
  const io = world.mustGetHost(name).boot();
  io.spawn('serve', async () => {
    await io.network.listen(`${name}:1`, (connection) => connection.start(echoTo(connection)));
  });
  for (const other of names) if (other !== name) io.spawn('talk', () => talk(io, `${other}:1`));
  io.spawn('write', () => write(io));
}

async function talk(io: Io, address: string): Promise<void> {
  for (;;) {
    const connection = await io.network.connect(address, 200_000).catch(() => undefined);
    if (connection !== undefined) {
      const speaker = new Speaker(io, connection);
      connection.start(speaker);
      speaker.speak();
      await sleep(io.clock, 100_000 + io.random.below(400_000));
      connection.destroy();
    }
    await sleep(io.clock, io.random.below(50_000));
  }
}

async function write(io: Io): Promise<void> {
  await io.disk.makeDirectory('log');
  const file = await io.disk.open('log/000001', 'readWrite');
  for (let offset = await file.size(); ;) {
    const count = await file.writeAt([io.random.bytes(1 + io.random.below(3000))], offset);
    offset += count;
    if (io.random.chance(1, 3)) await file.sync();
    io.log.event('debug', 'log.written', { offset, count, wallMs: io.clock.wallMs(), whole: count > 100 });
    await sleep(io.clock, io.random.below(20_000));
  }
}

class Speaker implements ConnectionHandler {
  readonly #io: Io;
  readonly #connection: Connection;

  constructor(io: Io, connection: Connection) {
    this.#io = io;
    this.#connection = connection;
  }

  speak(): void {
    this.#connection.write(this.#io.random.bytes(1 + this.#io.random.below(500)));
  }

  onData(): void {
    this.#io.clock.after(this.#io.random.below(5000), () => this.speak());
  }

  onDrain(): void {
    this.speak();
  }

  onEnd(): void {
    this.#connection.end();
  }

  onClose(reason: string): void {
    this.#io.log.event('info', 'talk.closed', { reason });
  }
}

function echoTo(connection: Connection): ConnectionHandler {
  return {
    onData: (chunk) => void connection.write(chunk),
    onDrain: () => undefined,
    onEnd: () => connection.end(),
    onClose: () => undefined,
  };
}
