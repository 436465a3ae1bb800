import { expect, test } from 'vitest';

import { CollectedBody, CollectedBytes } from './collected-body.ts';

async function* pieces(count: number, ended: string[] = []): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (let made = 0; made < count; made++) yield Promise.resolve(Buffer.alloc(10, made));
  } finally {
    ended.push('ended');
  }
}

/** A request whose client the test lets go. */
class Client {
  readonly #listeners: (() => void)[] = [];

  onGone(listener: () => void): void {
    this.#listeners.push(listener);
  }

  go(): void {
    for (const listener of this.#listeners) listener();
  }
}

test('bytes of a collected body are given back as the client takes them, not when it is collected', async () => {
  const budget = new CollectedBytes(100);
  const body = new CollectedBody(pieces(3), new Client(), budget);
  expect(await body.collect()).toBe(30);
  const held = [budget.held];
  for await (const piece of body) {
    expect(piece.length).toBe(10);
    held.push(budget.held);
  }
  expect([...held, budget.held]).toEqual([30, 30, 20, 10, 0]);
});

test('bodies that are being read slowly leave no room for another one', async () => {
  const budget = new CollectedBytes(25);
  const ended: string[] = [];
  const [slow, next] = [pieces(2), pieces(9, ended)].map(
    (made) => new CollectedBody(made, new Client(), budget),
  );
  expect(await slow?.collect()).toBe(20);
  expect(await next?.collect()).toBeUndefined();
  // One piece beyond the bound is held; the others are produced while the body is sent.
  expect(budget.held).toBe(30);
  let count = 0;
  for await (const piece of next ?? []) count += piece.length;
  expect([count, budget.held, ended]).toEqual([90, 20, ['ended']]);
});

test('a client that goes gives everything back, before, amid and after the collecting', async () => {
  for (const steps of [0, 1, 2]) {
    const budget = new CollectedBytes(100);
    const client = new Client();
    const ended: string[] = [];
    const body = new CollectedBody(pieces(3, ended), client, budget);
    const collecting = body.collect();
    if (steps === 0) client.go();
    const length = await collecting;
    expect(length).toBe(steps === 0 ? undefined : 30);
    if (steps === 2) await body.next();
    client.go();
    expect(budget.held).toBe(0);
    expect((await body.next()).done).toBe(true);
    expect([ended, budget.held]).toEqual([['ended'], 0]);
  }
});

test('a piece that fails gives everything back', async () => {
  const budget = new CollectedBytes(100);
  async function* failing(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* pieces(2);
    throw new Error('no more');
  }
  await expect(new CollectedBody(failing(), new Client(), budget).collect()).rejects.toThrow('no more');
  expect(budget.held).toBe(0);
});
