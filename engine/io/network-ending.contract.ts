/** The laws of the network port (`network.ts`) about connecting, listening, ending and breaking. */
import { expect } from 'vitest';
import { present } from '../base/assert.ts';
import { sleep } from './clock.ts';
import { ConnectionRecorder, streamBytes, streamMismatch } from './connection-recorder.fixture.ts';
import type { LawRegister } from './law.contract.ts';
import type { NetworkHarness } from './network-harness.fixture.ts';
import {
  chunkBytes,
  failureOf,
  openPair,
  openRaw,
  quietUs,
  writeUntilRefused,
} from './network-harness.fixture.ts';
import { ConnectError, ListenError } from './network.ts';

export function endingLaws(suite: LawRegister<NetworkHarness>): void {
  suite.law(
    'each side ends independently, and the connection ends in order once both have',
    async (harness) => {
      const { client, server } = await openPair(harness);
      const atClient = ConnectionRecorder.start(client);
      const atServer = ConnectionRecorder.start(server);
      client.write(Buffer.from('question'));
      client.end();
      await atServer.until(() => atServer.ended);
      expect(atServer.received().toString()).toBe('question');
      await sleep(harness.clock, quietUs);
      expect(atServer.closed).toBe(undefined);
      server.write(Buffer.from('answer'));
      await atClient.until(() => atClient.bytesReceived === 6);
      server.end();
      await Promise.all([
        atClient.until(() => atClient.closed !== undefined),
        atServer.until(() => atServer.closed !== undefined),
      ]);
      expect(atClient.story).toEqual(['data', 'end', 'ended']);
      expect(atServer.story).toEqual(['data', 'end', 'ended']);
      expect(atClient.received().toString()).toBe('answer');
    },
  );

  suite.law('what is pending at end still goes out', async (harness) => {
    const { client, server } = await openPair(harness);
    const atServer = ConnectionRecorder.start(server);
    ConnectionRecorder.start(client);
    server.pause();
    const written = await writeUntilRefused(harness, client);
    client.end();
    server.resume();
    await atServer.until(() => atServer.ended);
    expect(atServer.bytesReceived).toBe(written);
  });

  suite.law(
    'destroy closes this side at once, and the other side learns that no more bytes come',
    async (harness) => {
      const { client, server } = await openPair(harness);
      const atClient = ConnectionRecorder.start(client);
      const atServer = ConnectionRecorder.start(server);
      client.destroy();
      client.destroy();
      await atClient.until(() => atClient.closed !== undefined);
      await atServer.until(() => atServer.ended || atServer.closed !== undefined);
      server.end();
      await atServer.until(() => atServer.closed !== undefined);
      await sleep(harness.clock, quietUs);
      expect(atClient.story).toEqual(['closedHere']);
      expect(['ended', 'reset']).toContain(atServer.closed);
    },
  );

  suite.law('after destroy nothing but the close is delivered', async (harness) => {
    const { client, server } = await openPair(harness);
    const atServer = new ConnectionRecorder();
    atServer.onChunk = () => server.destroy();
    server.start(atServer);
    client.write(streamBytes(0, 150_000));
    client.end();
    await atServer.until(() => atServer.closed !== undefined);
    await sleep(harness.clock, quietUs);
    expect(atServer.story).toEqual(['data', 'closedHere']);
    expect(atServer.bytesReceived).toBeLessThanOrEqual(150_000);
  });

  suite.law('destroy drops bytes that a pause held back', async (harness) => {
    const { client, server } = await openPair(harness);
    const atServer = ConnectionRecorder.start(server);
    server.pause();
    client.write(streamBytes(0, 1000));
    client.end();
    await sleep(harness.clock, quietUs);
    server.resume();
    server.destroy();
    await atServer.until(() => atServer.closed !== undefined);
    await sleep(harness.clock, quietUs);
    expect(atServer.story).toEqual(['closedHere']);
  });

  suite.law('a reset is reported once and last', async (harness) => {
    const { server, raw } = await openRaw(harness);
    const atServer = ConnectionRecorder.start(server);
    raw.write(Buffer.from('half a sent'));
    await atServer.until(() => atServer.bytesReceived === 11);
    raw.reset();
    await atServer.until(() => atServer.closed !== undefined);
    await sleep(harness.clock, quietUs);
    expect(atServer.story).toEqual(['data', 'reset']);
  });

  suite.law('a reset before start is told after start', async (harness) => {
    const { server, raw } = await openRaw(harness);
    raw.reset();
    await sleep(harness.clock, quietUs);
    const atServer = ConnectionRecorder.start(server);
    expect(atServer.story).toEqual([]);
    await atServer.until(() => atServer.closed !== undefined);
    expect(atServer.story).toEqual(['reset']);
  });

  suite.law('calls on a connection that is over do nothing', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    ConnectionRecorder.start(server);
    client.destroy();
    await atClient.until(() => atClient.closed !== undefined);
    for (let count = 0; count < 100; count++) client.write(streamBytes(0, chunkBytes));
    client.pause();
    client.resume();
    client.end();
    client.destroy();
    await sleep(harness.clock, quietUs);
    expect(client.pendingBytes).toBe(0);
    expect(atClient.story).toEqual(['closedHere']);
  });
}

export function connectingLaws(suite: LawRegister<NetworkHarness>): void {
  suite.law('connecting to an address without a listener is refused', async (harness) => {
    const error = await failureOf(harness.client.connect(harness.vacantAddress, 5_000_000));
    expect(error).toBeInstanceOf(ConnectError);
    expect(error instanceof ConnectError && error.failure).toBe('refused');
  });

  suite.law(
    'connecting to an address that never answers times out after about the given time',
    async (harness) => {
      const address = await harness.silentAddress();
      const startedUs = harness.clock.nowUs();
      const error = await failureOf(harness.client.connect(address, 300_000));
      const tookUs = harness.clock.nowUs() - startedUs;
      expect(error instanceof ConnectError && error.failure).toBe('timedOut');
      expect(tookUs).toBeGreaterThan(250_000);
      expect(tookUs).toBeLessThan(3_000_000);
    },
  );

  suite.law('port 0 gives a port, and its address can be connected to', async (harness) => {
    const { listener, client } = await openPair(harness);
    expect(harness.listenAddress.endsWith(':0')).toBe(true);
    expect(Number(listener.address.split(':').at(-1))).toBeGreaterThan(0);
    expect(client.remote).toBe(listener.address);
  });

  suite.law('an address has one listener at a time', async (harness) => {
    const { listener } = await openPair(harness);
    const error = await failureOf(harness.server.listen(listener.address, () => undefined));
    expect(error).toBeInstanceOf(ListenError);
  });

  suite.law("another host's address cannot be listened on", async (harness) => {
    const error = await failureOf(harness.server.listen(harness.foreignAddress, () => undefined));
    expect(error).toBeInstanceOf(ListenError);
  });

  suite.law('a closed listener refuses, keeps its connections, and frees its address', async (harness) => {
    const { listener, client, server } = await openPair(harness);
    const atServer = ConnectionRecorder.start(server);
    await listener.close();
    const error = await failureOf(harness.client.connect(listener.address, 5_000_000));
    expect(error instanceof ConnectError && error.failure).toBe('refused');
    client.write(Buffer.from('still here'));
    await atServer.until(() => atServer.bytesReceived === 10);
    const again = await harness.server.listen(listener.address, () => undefined);
    expect(again.address).toBe(listener.address);
    await again.close();
  });
}

export function faultLaws(suite: LawRegister<NetworkHarness>): void {
  suite.law('a cut connection is silent: nothing arrives and nobody is told', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    const atServer = ConnectionRecorder.start(server);
    present(harness.faults, 'the power to cut').cut();
    client.write(Buffer.from('into the void'));
    server.end();
    await sleep(harness.clock, quietUs);
    expect(atServer.story).toEqual([]);
    expect(atClient.story).toEqual([]);
  });

  suite.law('after a cut is healed, bytes arrive in order or the connection breaks', async (harness) => {
    const { client, server } = await openPair(harness);
    const atServer = ConnectionRecorder.start(server);
    const atClient = ConnectionRecorder.start(client);
    const faults = present(harness.faults, 'the power to cut');
    client.write(streamBytes(0, 1000));
    await atServer.until(() => atServer.bytesReceived === 1000);
    faults.cut();
    client.write(streamBytes(1000, 1000));
    await sleep(harness.clock, quietUs);
    faults.heal();
    client.write(streamBytes(2000, 1000));
    const over = (): boolean => atServer.bytesReceived === 3000 || atServer.closed !== undefined;
    await Promise.race([atServer.until(over), atClient.until(() => atClient.closed !== undefined)]);
    expect(streamMismatch(0, atServer.received())).toBe(undefined);
  });
}
