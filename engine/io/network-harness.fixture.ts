/** The harness that the laws of the network port need, and their helpers. */
import { expect } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { sleep } from './clock.ts';
import type { ConnectionRecorder } from './connection-recorder.fixture.ts';
import { streamBytes } from './connection-recorder.fixture.ts';
import type { Harness } from './law.contract.ts';
import type { Address, Connection, Listener, Network } from './network.ts';

/** What an implementation of the network port provides to its laws. */
export interface NetworkHarness extends Harness {
  /** The networks of two hosts that reach each other (on a machine they are one network). */
  readonly server: Network;
  readonly client: Network;
  /** An address of the server's host with port 0. */
  readonly listenAddress: Address;
  /** An address of the server's host on which no process listens. */
  readonly vacantAddress: Address;
  /** An address that is not of the server's host. */
  readonly foreignAddress: Address;
  /** An address that never answers: connecting to it hangs. */
  silentAddress(): Promise<Address>;
  /** Connects from the client's host without the port, with the ability to break the connection. */
  connectRaw(address: Address): Promise<RawPeer>;
  /** Faults that only a simulated world can inject. Laws that use them are skipped by name where this is undefined. */
  readonly faults: NetworkFaults | undefined;
}

/** A connection made without the port. */
export interface RawPeer {
  write(bytes: Uint8Array): void;
  /** Breaks the connection at once and notifies the other side (RST). */
  reset(): void;
}

/** Faults of a simulated network. */
export interface NetworkFaults {
  /** Nothing passes between the two hosts any more, in either direction; neither side is notified. */
  cut(): void;
  heal(): void;
}

/** How long a law waits before it concludes that nothing happens. */
export const quietUs = 50_000;
/** Size of one write of `pour` and `writeUntilRefused`. */
export const chunkBytes = 16 * 1024;

/** A connection by both of its ends, and the listener that accepted it. */
export interface Pair {
  readonly listener: Listener;
  readonly client: Connection;
  readonly server: Connection;
}

/** Opens one connection from the client to the server. */
export async function openPair(harness: NetworkHarness): Promise<Pair> {
  const accepted = new Deferred<Connection>();
  const listener = await harness.server.listen(harness.listenAddress, (connection) =>
    accepted.resolve(connection),
  );
  const client = await harness.client.connect(listener.address, 5_000_000);
  return { listener, client, server: await accepted.promise };
}

/** Opens `count` connections, one after another. */
export async function openPairs(harness: NetworkHarness, count: number): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  for (let index = 0; index < count; index++) pairs.push(await openPair(harness));
  return pairs;
}

/** Opens one connection from a raw peer to the server. */
export async function openRaw(harness: NetworkHarness): Promise<{ server: Connection; raw: RawPeer }> {
  const accepted = new Deferred<Connection>();
  const listener = await harness.server.listen(harness.listenAddress, (connection) =>
    accepted.resolve(connection),
  );
  const raw = await harness.connectRaw(listener.address);
  return { raw, server: await accepted.promise };
}

/** Writes of a law: sizes in bytes, each group followed by a pause. */
export type Script = readonly { readonly sizes: readonly number[]; readonly waitUs: number }[];

/** Writes the stream in the script's pieces and pauses, then ends. */
export async function play(harness: NetworkHarness, connection: Connection, script: Script): Promise<void> {
  let at = 0;
  for (const { sizes, waitUs } of script) {
    for (const size of sizes) {
      connection.write(streamBytes(at, size));
      at += size;
    }
    if (waitUs > 0) await sleep(harness.clock, waitUs);
  }
  connection.end();
}

/** Total of a script's writes, in bytes. */
export function bytesOfScript(script: Script): number {
  return script.reduce((sum, { sizes }) => sum + sizes.reduce((left, right) => left + right, 0), 0);
}

/** Writes `bytes` bytes of the stream, waiting for `onDrain` whenever `write` returns false. */
export async function pour(
  connection: Connection,
  recorder: ConnectionRecorder,
  bytes: number,
): Promise<void> {
  for (let at = 0; at < bytes; at += chunkBytes) {
    const drainsBefore = recorder.drains;
    const more = connection.write(streamBytes(at, Math.min(chunkBytes, bytes - at)));
    if (!more) await recorder.until(() => recorder.drains > drainsBefore);
  }
}

/** Writes the stream until `write` returns false and nothing leaves any more. Returns the bytes written. */
export async function writeUntilRefused(harness: NetworkHarness, connection: Connection): Promise<number> {
  let written = 0;
  for (;;) {
    while (connection.write(streamBytes(written, chunkBytes))) written += chunkBytes;
    written += chunkBytes;
    const pendingBytes = connection.pendingBytes;
    await sleep(harness.clock, quietUs);
    if (connection.pendingBytes === pendingBytes && pendingBytes > 0) return written;
    // Some bytes left into the system's buffers: continue until those are full as well.
    expect(written).toBeLessThan(256 * 1024 * 1024);
  }
}

/** The error with which `outcome` rejects, or an `Error` that states that it resolved. */
export async function failureOf(outcome: Promise<unknown>): Promise<unknown> {
  return outcome.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  );
}
