/** Laws of commands on values. */
import { expect, it } from 'vitest';

import type { Entry } from './entries.ts';
import { Refusal, texts } from './refusals.ts';
import { evaluateHash } from './script-commands.ts';
import type { CommandContext } from './value-commands.ts';
import { isBlindSet, set } from './value-commands.ts';
import { WorkingKey } from './working-set.ts';

const noScript = (): never => {
  throw new Error('no script runs here');
};
const context: CommandContext = {
  nowMs: 5_000,
  version: 2,
  valueBytesMax: 100,
  answerBytesMax: 100,
  scripts: { run: noScript, load: noScript, has: noScript, flush: noScript },
};
const before: Entry = { value: Buffer.from('old'), expiresAtMs: 9_000, like: undefined };

const parts = [['NX'], ['XX'], ['GET'], ['KEEPTTL'], ['EX', '7'], ['PX', '7'], ['EXAT', '7'], ['PXAT', '7']];
const requests = [[], ...parts, ...parts.flatMap((one) => parts.map((other) => [...one, ...other]))].map(
  (options) => ['SET', 'k', 'new', ...options].map((word) => Buffer.from(word)),
);

/** The answer and the entry that a SET leaves over another entry. */
function over(entry: Entry | undefined, request: readonly Buffer[]): unknown {
  const key = new WorkingKey(entry);
  try {
    return { reply: set(key, request, context).toString(), left: key.entry };
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

it('a SET that counts as blind answers and leaves the same whatever the key holds', () => {
  const blind = requests.filter(isBlindSet);
  expect(blind.length).toBeGreaterThan(2);
  for (const request of blind)
    expect(over(before, request), request.join(' ')).toEqual(over(undefined, request));
});

it('KEEPTTL keeps the expiry of the old value, and a plain SET ends it', () => {
  const left = (...options: readonly string[]): unknown =>
    over(
      before,
      ['SET', 'k', 'new', ...options].map((word) => Buffer.from(word)),
    );
  expect(left('KEEPTTL')).toMatchObject({ left: { expiresAtMs: 9_000 } });
  expect(left()).toMatchObject({ left: { expiresAtMs: 0 } });
});

it('EVALSHA looks at the length of a hash before it counts keys, as Redis does', () => {
  for (const hash of ['', 'abc', 'f'.repeat(41)]) {
    const request = ['EVALSHA', hash, 'many'].map((word) => Buffer.from(word));
    expect(() => evaluateHash(undefined as never, request, context)).toThrow(texts.noScript);
  }
  const request = ['EVALSHA', 'f'.repeat(40), 'many'].map((word) => Buffer.from(word));
  expect(() => evaluateHash(undefined as never, request, context)).toThrow(texts.notInteger);
});
