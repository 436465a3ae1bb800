/**
 * The laws of the network port (`network.ts`) about streams and back-pressure, for both implementations. The laws about
 * beginnings and ends are in `network-ending.contract.ts`.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { sleep } from './clock.ts';
import { ConnectionRecorder, streamBytes, streamMismatch } from './connection-recorder.fixture.ts';
import type { LawRegister, MakeHarness, Skips } from './law.contract.ts';
import { contract } from './law.contract.ts';
import { connectingLaws, endingLaws, faultLaws } from './network-ending.contract.ts';
import { patienceLaws } from './network-patience.contract.ts';
import type { NetworkHarness } from './network-harness.fixture.ts';
import {
  bytesOfScript,
  chunkBytes,
  openPair,
  openPairs,
  play,
  pour,
  quietUs,
  writeUntilRefused,
} from './network-harness.fixture.ts';
import type { BytesOwner, Connection } from './network.ts';

export function networkContract(
  name: string,
  makeHarness: MakeHarness<NetworkHarness>,
  skips: Skips = {},
): void {
  contract(`network: ${name}`, makeHarness, skips, (suite) => {
    streamLaws(suite);
    pressureLaws(suite);
    lendingLaws(suite);
    endingLaws(suite);
    patienceLaws(suite);
    connectingLaws(suite);
    faultLaws(suite);
  });
}

function streamLaws(suite: LawRegister<NetworkHarness>): void {
  const turn = fc.record({
    sizes: fc.array(fc.nat(3000), { maxLength: 8 }),
    waitUs: fc.constantFrom(0, 0, 200, 3000),
  });
  const script = fc.array(turn, { minLength: 1, maxLength: 25 });
  suite.property(
    'bytes of each direction arrive in the order written, each once',
    fc.record({ toServer: script, toClient: script }),
    25,
    async (harness, { toServer, toClient }) => {
      const pair = await openPair(harness);
      const atClient = ConnectionRecorder.start(pair.client);
      const atServer = ConnectionRecorder.start(pair.server);
      await Promise.all([play(harness, pair.client, toServer), play(harness, pair.server, toClient)]);
      await Promise.all([atClient.until(() => atClient.ended), atServer.until(() => atServer.ended)]);
      expect(streamMismatch(0, atServer.received())).toBe(undefined);
      expect(streamMismatch(0, atClient.received())).toBe(undefined);
      expect(atServer.bytesReceived).toBe(bytesOfScript(toServer));
      expect(atClient.bytesReceived).toBe(bytesOfScript(toClient));
    },
  );

  suite.law('megabytes pass whole and in order', async (harness) => {
    const { client, server } = await openPair(harness);
    const bytes = 6 * 1024 * 1024;
    const atServer = ConnectionRecorder.start(server);
    let mismatch: number | undefined;
    atServer.forget();
    atServer.onChunk = (chunk) => (mismatch ??= streamMismatch(atServer.bytesReceived - chunk.length, chunk));
    await pour(client, ConnectionRecorder.start(client), bytes);
    client.end();
    await atServer.until(() => atServer.ended);
    expect(atServer.bytesReceived).toBe(bytes);
    expect(mismatch).toBe(undefined);
  });

  suite.law('connections do not mix', async (harness) => {
    const pairs = await openPairs(harness, 20);
    const recorders = pairs.map(({ server }) => ConnectionRecorder.start(server));
    for (let round = 0; round < 5; round++) {
      pairs.forEach(({ client }, index) => client.write(Buffer.from(`${index}.${round};`)));
    }
    pairs.forEach(({ client }) => client.end());
    for (const [index, recorder] of recorders.entries()) {
      await recorder.until(() => recorder.ended);
      const expected = Array.from({ length: 5 }, (_, round) => `${index}.${round};`).join('');
      expect(recorder.received().toString()).toBe(expected);
    }
  });

  suite.law('bytes that arrive before start are not lost', async (harness) => {
    const { client, server } = await openPair(harness);
    client.write(streamBytes(0, 100_000));
    client.end();
    await sleep(harness.clock, quietUs);
    const atServer = ConnectionRecorder.start(server);
    await atServer.until(() => atServer.ended);
    expect(atServer.bytesReceived).toBe(100_000);
    expect(streamMismatch(0, atServer.received())).toBe(undefined);
    expect(atServer.story).toEqual(['data', 'end']);
  });

  suite.law('no handler is called within a call into the port', async (harness) => {
    const { client, server } = await openPair(harness);
    let within = false;
    let calledWithin = 0;
    const guarded = (call: () => void): void => {
      within = true;
      call();
      within = false;
    };
    const listen = (connection: Connection, onData: () => void): void => {
      const called = (act: () => void) => (): void => {
        if (within) calledWithin += 1;
        act();
      };
      const nothing = called(() => undefined);
      guarded(() =>
        connection.start({ onData: called(onData), onDrain: nothing, onEnd: nothing, onClose: nothing }),
      );
    };
    client.write(streamBytes(0, 2000));
    await sleep(harness.clock, quietUs);
    listen(server, () =>
      guarded(() => {
        server.pause();
        server.resume();
        server.write(streamBytes(0, 300_000));
      }),
    );
    listen(client, () => guarded(() => client.write(streamBytes(0, 10))));
    await sleep(harness.clock, quietUs);
    guarded(() => client.end());
    guarded(() => server.end());
    guarded(() => client.destroy());
    guarded(() => server.destroy());
    await sleep(harness.clock, quietUs);
    expect(calledWithin).toBe(0);
  });
}

function pressureLaws(suite: LawRegister<NetworkHarness>): void {
  suite.law('a paused reader makes writes pend, and resuming drains them', async (harness) => {
    const { client, server } = await openPair(harness);
    const atServer = ConnectionRecorder.start(server);
    const atClient = ConnectionRecorder.start(client);
    server.pause();
    const written = await writeUntilRefused(harness, client);
    expect(client.pendingBytes).toBeGreaterThan(0);
    expect(atServer.bytesReceived).toBe(0);
    const drainsBefore = atClient.drains;
    server.resume();
    await atClient.until(() => atClient.drains > drainsBefore);
    expect(client.write(Buffer.from('x'))).toBe(true);
    client.end();
    await atServer.until(() => atServer.ended);
    expect(atServer.bytesReceived).toBe(written + 1);
    expect(streamMismatch(0, atServer.received().subarray(0, written))).toBe(undefined);
    expect(client.pendingBytes).toBe(0);
  });

  suite.law('a writer that has to wait gets onDrain, whatever the size of its write', async (harness) => {
    const { client, server } = await openPair(harness);
    const atServer = ConnectionRecorder.start(server);
    const atClient = ConnectionRecorder.start(client);
    let written = 0;
    for (const bytes of [300_000, 1_000_000, 2_000_000]) {
      const drainsBefore = atClient.drains;
      written += bytes;
      // An isolated write: the system may take it all at once.
      if (!client.write(Buffer.alloc(bytes))) await atClient.until(() => atClient.drains > drainsBefore);
      await atServer.until(() => atServer.bytesReceived === written);
    }
  });

  suite.law('the pending bytes of a writer that waits for onDrain are bounded', async (harness) => {
    const { client, server } = await openPair(harness);
    ConnectionRecorder.start(client);
    server.pause();
    await writeUntilRefused(harness, client);
    expect(client.pendingBytes).toBeLessThanOrEqual(1024 * 1024 + chunkBytes);
  });

  suite.law('bytes written after write returned false are accepted all the same', async (harness) => {
    const { client, server } = await openPair(harness);
    ConnectionRecorder.start(client);
    const bytes = 4 * 1024 * 1024;
    let refusals = 0;
    for (let at = 0; at < bytes; at += chunkBytes) {
      if (!client.write(streamBytes(at, chunkBytes))) refusals += 1;
    }
    expect(refusals).toBeGreaterThan(0);
    client.end();
    const atServer = ConnectionRecorder.start(server);
    await atServer.until(() => atServer.ended);
    expect(atServer.bytesReceived).toBe(bytes);
    expect(streamMismatch(0, atServer.received())).toBe(undefined);
  });

  suite.law(
    'a reader that pauses in the middle of a chunk receives nothing until it resumes',
    async (harness) => {
      const { client, server } = await openPair(harness);
      const atServer = new ConnectionRecorder();
      const reader = { paused: false };
      let heardWhilePaused = 0;
      atServer.onChunk = () => {
        if (reader.paused) heardWhilePaused += 1;
        reader.paused = true;
        server.pause();
      };
      server.start(atServer);
      client.write(streamBytes(0, 200_000));
      client.end();
      while (!atServer.ended) {
        await sleep(harness.clock, 1000);
        if (!reader.paused) continue;
        reader.paused = false;
        server.resume();
      }
      expect(heardWhilePaused).toBe(0);
      expect(atServer.bytesReceived).toBe(200_000);
      expect(streamMismatch(0, atServer.received())).toBe(undefined);
    },
  );
}

/** An owner that overwrites memory as soon as it is released. */
class Lender implements BytesOwner {
  readonly lent = new Set<Uint8Array>();
  released(bytes: Uint8Array): void {
    expect(this.lent.delete(bytes)).toBe(true);
    bytes.fill(0xee);
  }

  lend(bytes: Uint8Array): Uint8Array {
    this.lent.add(bytes);
    return bytes;
  }
}

/** Waits until everything lent is released; a machine under load may report it late. */
async function untilReturned(harness: NetworkHarness, lender: Lender): Promise<void> {
  for (let waits = 0; lender.lent.size > 0 && waits < 500; waits++) await sleep(harness.clock, quietUs);
}

function lendingLaws(suite: LawRegister<NetworkHarness>): void {
  const sizes = fc.array(fc.oneof(fc.nat(300), fc.nat(40_000), fc.constant(0)), {
    minLength: 1,
    maxLength: 30,
  });
  suite.property(
    'lent bytes are released once, and overwriting them afterwards never reaches the peer',
    sizes,
    25,
    async (harness, script) => {
      const { client, server } = await openPair(harness);
      ConnectionRecorder.start(client);
      const atServer = ConnectionRecorder.start(server);
      const lender = new Lender();
      let at = 0;
      for (const size of script) {
        client.write(lender.lend(streamBytes(at, size)), lender);
        at += size;
      }
      await atServer.until(() => atServer.bytesReceived === at);
      await untilReturned(harness, lender);
      expect(lender.lent.size).toBe(0);
      expect(streamMismatch(0, atServer.received())).toBe(undefined);
    },
  );

  suite.law(
    'bytes that wait for a reader are not released, and bytes written after the end are',
    async (harness) => {
      const { client, server } = await openPair(harness);
      const atServer = ConnectionRecorder.start(server);
      ConnectionRecorder.start(client);
      server.pause();
      const lender = new Lender();
      const bytes = 16 * 1024 * 1024;
      client.write(lender.lend(streamBytes(0, bytes)), lender);
      await sleep(harness.clock, quietUs);
      expect(lender.lent.size).toBe(1);
      client.end();
      client.write(lender.lend(streamBytes(0, 100)), lender);
      expect(lender.lent.size).toBe(1);
      server.resume();
      await atServer.until(() => atServer.ended);
      expect(streamMismatch(0, atServer.received())).toBe(undefined);
      expect(lender.lent.size).toBe(0);
    },
  );

  suite.law('nothing is released after the close', async (harness) => {
    const { client, server } = await openPair(harness);
    const atClient = ConnectionRecorder.start(client);
    ConnectionRecorder.start(server);
    server.pause();
    let after = 0;
    const owner: BytesOwner = {
      released: () => {
        if (atClient.closed !== undefined) after += 1;
      },
    };
    for (let round = 0; round < 200; round++) client.write(streamBytes(0, 100_000), owner);
    await sleep(harness.clock, quietUs);
    client.write(streamBytes(0, 10), owner);
    client.destroy();
    client.write(streamBytes(0, 10), owner);
    await atClient.until(() => atClient.closed !== undefined);
    client.write(streamBytes(0, 10), owner);
    await sleep(harness.clock, quietUs);
    expect(after).toBe(0);
  });
}
