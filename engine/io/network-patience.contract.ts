/** The laws of the network door (network.ts) about its patience with who takes nothing of what is pending. */
import { expect } from 'vitest';
import { sleep } from './clock.ts';
import { ConnectionRecorder, streamBytes } from './connection-recorder.fixture.ts';
import type { LawRegister } from './law.contract.ts';
import type { NetworkHarness } from './network-harness.fixture.ts';
import { openPair, pour, quietUs, writeUntilRefused } from './network-harness.fixture.ts';

const patienceUs = 500_000;
/** So many bytes in one go that the system, which takes note of them in large steps only, sees some of them leave. */
const takenBytes = 6 * 1024 * 1024;

export function patienceLaws(book: LawRegister<NetworkHarness>): void {
  book.law('who takes nothing of what is pending is cut off when patience is over', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    const atServer = ConnectionRecorder.start(server);
    server.pause();
    client.setPatience(patienceUs);
    await writeUntilRefused(harness, client);
    const sinceUs = harness.clock.nowUs();
    await atClient.until(() => atClient.closed !== undefined);
    // Nothing has left since the last look at it, and that was a moment ago.
    expect(harness.clock.nowUs() - sinceUs).toBeGreaterThan(patienceUs - 4 * quietUs);
    expect(atClient.closed).toBe('timedOut');
    server.resume();
    await atServer.until(() => atServer.ended || atServer.closed !== undefined);
  });

  book.law('patience that is set while something is pending begins there', async (harness) => {
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

  book.law('who takes some of it now and then is waited for', async (harness) => {
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

  book.law('silence needs no patience', async (harness) => {
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
