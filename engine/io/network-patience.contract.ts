/**
 * The laws of the network port (`network.ts`) about `setPatience`: how long it waits for a peer that takes no bytes.
 */
import { expect } from 'vitest';
import { sleep } from './clock.ts';
import { ConnectionRecorder, streamBytes } from './connection-recorder.fixture.ts';
import type { LawRegister } from './law.contract.ts';
import type { NetworkHarness } from './network-harness.fixture.ts';
import { openPair, pour, quietUs, writeUntilRefused } from './network-harness.fixture.ts';

const patienceUs = 500_000;
/** Bytes per burst: enough that the system, which accounts for them in large steps only, reports progress. */
const takenBytes = 6 * 1024 * 1024;

export function patienceLaws(suite: LawRegister<NetworkHarness>): void {
  suite.law('a peer that takes no pending bytes is cut off after the patience', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    const atServer = ConnectionRecorder.start(server);
    server.pause();
    client.setPatience(patienceUs);
    await writeUntilRefused(harness, client);
    const sinceUs = harness.clock.nowUs();
    await atClient.until(() => atClient.closed !== undefined);
    // The last byte left at most a moment before `sinceUs`.
    expect(harness.clock.nowUs() - sinceUs).toBeGreaterThan(patienceUs - 4 * quietUs);
    expect(atClient.closed).toBe('timedOut');
    server.resume();
    await atServer.until(() => atServer.ended || atServer.closed !== undefined);
  });

  suite.law('patience set while bytes are pending starts at that moment', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    ConnectionRecorder.start(server);
    server.pause();
    await writeUntilRefused(harness, client);
    client.end();
    client.setPatience(patienceUs);
    await atClient.until(() => atClient.closed !== undefined);
    expect(atClient.closed).toBe('timedOut');
  });

  suite.law('a peer that takes some bytes now and then is not cut off', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    const atServer = ConnectionRecorder.start(server);
    atServer.forget();
    client.setPatience(patienceUs);
    const bytes = 8 * takenBytes;
    const poured = pour(client, atClient, bytes);
    for (let taken = takenBytes; taken <= bytes; taken += takenBytes) {
      server.pause();
      await sleep(harness.clock, patienceUs / 4);
      server.resume();
      await atServer.until(() => atServer.bytesReceived >= taken);
    }
    await poured;
    expect(atServer.bytesReceived).toBe(bytes);
    expect(atClient.closed).toBe(undefined);
  });

  suite.law('a peer that takes one large write bit by bit is not cut off', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    let released = 0;
    let received = 0;
    const end = { reached: false };
    server.start({
      onData: ({ length }) => {
        const takes = Math.floor((received + length) / takenBytes) - Math.floor(received / takenBytes);
        received += length;
        if (takes === 0) return;
        server.pause();
        harness.clock.after(patienceUs / 2, () => server.resume());
      },
      onDrain: () => undefined,
      onEnd: () => (end.reached = true),
      onClose: () => undefined,
    });
    client.setPatience(patienceUs);
    const bytes = 8 * takenBytes;
    client.write(Buffer.alloc(bytes), { released: (view) => (released += view.length) });
    client.end();
    for (let waits = 0; waits < 100 && !end.reached; waits++) await sleep(harness.clock, patienceUs / 10);
    expect([received, released, atClient.closed === 'timedOut']).toEqual([bytes, bytes, false]);
  });

  suite.law('an idle connection is not cut off', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    const atServer = ConnectionRecorder.start(server);
    client.setPatience(quietUs);
    client.write(streamBytes(0, 1000));
    await atServer.until(() => atServer.bytesReceived === 1000);
    await sleep(harness.clock, 4 * quietUs);
    client.write(streamBytes(1000, 1000));
    await atServer.until(() => atServer.bytesReceived === 2000);
    expect(atClient.closed).toBe(undefined);
  });
}
