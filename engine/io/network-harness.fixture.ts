/** What the laws of the network door ask of an implementation, and the moves that they are told in. */
import { expect } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { sleep } from './clock.ts';
import type { ConnectionRecorder } from './connection-recorder.fixture.ts';
import { streamBytes } from './connection-recorder.fixture.ts';
import type { Harness } from './law.contract.ts';
import type { Address, Connection, Listener, Network } from './network.ts';

export interface NetworkHarness extends Harness {
  /** The doors of two hosts that reach one another (on the machine they are one door). */
  readonly server: Network;
  readonly client: Network;
  /** An address of the server's host with port 0. */
  readonly listenAddress: Address;
  /** An address of the server's host on which nobody listens. */
  readonly vacantAddress: Address;
  /** An address that is not of the server's host. */
  readonly foreignAddress: Address;
  /** An address from which no word ever comes back: connecting to it hangs. */
  silentAddress(): Promise<Address>;
  /** Connects from the client's host by other means than the door, with the power to break the connection. */
  connectRaw(address: Address): Promise<RawPeer>;
  /** What only a world can do; a law that asks for it must be skipped by name where it is undefined. */
  readonly faults: NetworkFaults | undefined;
}

export interface RawPeer {
  write(bytes: Uint8Array): void;
  /** Breaks the connection at once and tells the other side (RST). */
  reset(): void;
}

export interface NetworkFaults {
  /** Nothing passes between the two hosts any more, in either direction; nobody is told. */
  cut(): void;
  heal(): void;
}

/** How long a law waits before it believes that nothing happens. */
export const quietUs = 50_000;
export const chunkBytes = 16 * 1024;

export interface Pair {
  readonly listener: Listener;
  readonly client: Connection;
  readonly server: Connection;
}

export async function openPair(harness: NetworkHarness): Promise<Pair> {
  const accepted = new Deferred<Connection>();
  const listener = await harness.server.listen(harness.listenAddress, (connection) =>
    accepted.resolve(connection),
  );
  const client = await harness.client.connect(listener.address, 5_000_000);
  return { listener, client, server: await accepted.promise };
}

export async function openPairs(harness: NetworkHarness, count: number): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  for (let index = 0; index < count; index++) pairs.push(await openPair(harness));
  return pairs;
}

export async function openRaw(harness: NetworkHarness): Promise<{ server: Connection; raw: RawPeer }> {
  const accepted = new Deferred<Connection>();
  const listener = await harness.server.listen(harness.listenAddress, (connection) =>
    accepted.resolve(connection),
  );
  const raw = await harness.connectRaw(listener.address);
  return { raw, server: await accepted.promise };
}

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

export function bytesOfScript(script: Script): number {
  return script.reduce((sum, { sizes }) => sum + sizes.reduce((left, right) => left + right, 0), 0);
}

/** Writes `bytes` of the stream, waiting for the drain whenever told to. */
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

/** Writes the stream until the door says that enough is pending and nothing leaves any more; how many bytes. */
export async function writeUntilRefused(harness: NetworkHarness, connection: Connection): Promise<number> {
  let written = 0;
  for (;;) {
    while (connection.write(streamBytes(written, chunkBytes))) written += chunkBytes;
    written += chunkBytes;
    const pendingBytes = connection.pendingBytes;
    await sleep(harness.clock, quietUs);
    if (connection.pendingBytes === pendingBytes && pendingBytes > 0) return written;
    // Some of it left into the buffers on the way: go on until those are full as well.
    expect(written).toBeLessThan(256 * 1024 * 1024);
  }
}

export async function failureOf(outcome: Promise<unknown>): Promise<unknown> {
  return outcome.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  );
}
