import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError } from './assert.ts';
import { Channel } from './channel.ts';

type Step =
  | { readonly kind: 'send'; readonly bytes: number }
  | { readonly kind: 'receive' }
  | { readonly kind: 'close' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('send' as const), bytes: fc.nat(12) }) },
    { weight: 5, arbitrary: fc.constant({ kind: 'receive' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'close' as const }) },
  ),
  { maxLength: 60 },
);

describe('channel', () => {
  it('is a queue with two limits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 20 }),
        steps,
        (countMax, bytesMax, script) => {
          const channel = new Channel<number>({ countMax, bytesMax });
          const twin: { readonly item: number; readonly bytes: number }[] = [];
          let closed = false;
          script.forEach((step, item) => {
            const held = twin.reduce((sum, { bytes }) => sum + bytes, 0);
            if (step.kind === 'send') {
              const full = twin.length >= countMax || (twin.length > 0 && held + step.bytes > bytesMax);
              expect(channel.trySend(item, step.bytes)).toBe(closed ? 'closed' : full ? 'full' : 'ok');
              if (!closed && !full) twin.push({ item, bytes: step.bytes });
            } else if (step.kind === 'receive') {
              expect(channel.tryReceive()).toBe(twin.shift()?.item);
            } else {
              channel.close();
              closed = true;
            }
            expect(channel.length).toBe(twin.length);
            expect(channel.bytes).toBe(twin.reduce((sum, { bytes }) => sum + bytes, 0));
            expect(channel.closed).toBe(closed);
          });
        },
      ),
      { numRuns: 500 },
    );
  });

  it('keeps its order and its memory over many items', () => {
    const channel = new Channel<number>({ countMax: 5000, bytesMax: 1e9 });
    let next = 0;
    let expected = 0;
    for (let round = 0; round < 40; round++) {
      while (channel.trySend(next, 1) === 'ok') next += 1;
      for (let count = 0; count < 1500 + (round % 7) * 500; count++)
        expect(channel.tryReceive()).toBe(expected++);
      expect(channel.length).toBe(next - expected);
      expect(channel.bytes).toBe(next - expected);
    }
  });

  it('a reader waits for an item, and sees the close after the last one', async () => {
    const channel = new Channel<string>({ countMax: 2, bytesMax: 10 });
    const heard: (string | undefined)[] = [];
    const reading = (async (): Promise<void> => {
      while (!channel.closed || channel.length > 0) {
        await channel.ready();
        heard.push(channel.tryReceive());
      }
    })();
    await Promise.resolve();
    expect(channel.trySend('a')).toBe('ok');
    expect(channel.trySend('b')).toBe('ok');
    expect(channel.trySend('c')).toBe('full');
    channel.close();
    expect(channel.trySend('d')).toBe('closed');
    await reading;
    expect(heard).toEqual(['a', 'b']);
  });

  it('a reader that waits is woken by the close', async () => {
    const channel = new Channel<string>({ countMax: 1, bytesMax: 1 });
    const ready = channel.ready();
    channel.close();
    await ready;
    await channel.ready();
    expect(channel.closed).toBe(true);
  });

  it('a reader callback runs exactly when a waiting reader would resume', async () => {
    const order: string[] = [];
    const waited = new Channel<string>({ countMax: 2, bytesMax: 10 });
    const called = new Channel<string>({ countMax: 2, bytesMax: 10 });
    called.whenReady(() => order.push(`called ${called.tryReceive()}`));
    const waiting = (async (): Promise<void> => {
      await waited.ready();
      order.push(`waited ${waited.tryReceive()}`);
    })();
    called.trySend('a');
    waited.trySend('b');
    expect(order).toEqual([]);
    await waiting;
    expect(order).toEqual(['called a', 'waited b']);
  });

  it('a reader callback runs once: for a queued item or for the close', async () => {
    const channel = new Channel<string>({ countMax: 2, bytesMax: 10 });
    let calls = 0;
    channel.trySend('a');
    channel.whenReady(() => (calls += 1));
    await Promise.resolve();
    channel.trySend('b');
    await Promise.resolve();
    expect(calls).toBe(1);
    channel.tryReceive();
    channel.tryReceive();
    channel.whenReady(() => (calls += 1));
    expect(() => channel.ready()).toThrow(AssertionError);
    channel.close();
    await Promise.resolve();
    expect(calls).toBe(2);
  });

  it('an item above the byte limit passes an empty channel only', () => {
    const channel = new Channel<string>({ countMax: 9, bytesMax: 10 });
    expect(channel.trySend('large', 1000)).toBe('ok');
    expect(channel.trySend('small', 1)).toBe('full');
    expect(channel.tryReceive()).toBe('large');
    expect(channel.trySend('small', 1)).toBe('ok');
  });

  it('undefined is an item like any other', () => {
    const channel = new Channel<undefined>({ countMax: 2, bytesMax: 2 });
    channel.trySend(undefined);
    expect(channel.length).toBe(1);
    channel.tryReceive();
    expect(channel.length).toBe(0);
  });

  it('a second reader fails an assertion', async () => {
    const channel = new Channel<string>({ countMax: 1, bytesMax: 1 });
    const first = channel.ready();
    expect(() => channel.ready()).toThrow(AssertionError);
    channel.close();
    await first;
  });
});
