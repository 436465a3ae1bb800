/** Which writes of a committed branch a rebuilt disk still lacks. */
import { expect, test } from 'vitest';

import { TestClock } from '../../api/testing/test-io.fixture.ts';
import { LockstepError } from '../../base/errors.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { defaultProperties } from '../../buckets/properties.ts';
import type { MemoryStore } from '../../replica/key-slots.ts';
import { plainContent } from '../../replica/object/content.ts';
import type { Actor } from '../../replica/object/dots.ts';
import { applyWrite, encodeObject } from '../../replica/object/object.ts';
import { nothingLost } from '../../replica/replica-harness.fixture.ts';
import { Replica } from '../../replica/replica.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import { leftOf, markText } from './redo.ts';

const content = plainContent(Buffer.from('v'), 'text/plain');
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const life = byteStringOf('n1.5f') as Actor;
const order: PrepareRequest = {
  coordinator: 'n2' as NodeId,
  level: 'DC_QUORUM',
  clientId: '',
  clientDigest: byteStringOf(''),
  branches: [{ node: 'n1' as NodeId, writes: true, life: 1 }],
  operations: [
    {
      key,
      token: 7 as Token,
      content,
      context: undefined,
      ifMatch: undefined,
      ifAbsent: false,
      check: false,
    },
  ],
};

/** How many operations are left if the key holds a write of the actor with the counter. */
async function operationsLeft(actor: string, counter: number): Promise<number> {
  const dot = { actor: byteStringOf(actor) as Actor, counter };
  const bytes = encodeObject(applyWrite(undefined, [], content, dot, 1));
  const store: MemoryStore = {
    inMemory: () => bytes,
    tryRead: () => 'closed',
    tryReadDoubted: () => 'closed',
    ...nothingLost,
    tryWrite: () => 'closed',
  };
  const replica = new Replica(
    store,
    new TestClock(),
    byteStringOf('n1.7a') as Actor,
    () => defaultProperties,
  );
  const left = await leftOf({ replica, unread: () => false }, order, markText({ actor: life, counter: 5 }));
  if (left instanceof LockstepError) throw left;
  return left.operations.length;
}

test('a key is written again unless it has seen a write of the lost incarnation behind the vote', async () => {
  expect(await operationsLeft('n1.5f', 6)).toBe(0);
  expect(await operationsLeft('n1.5f+2', 6)).toBe(0);
  // The last write before the vote.
  expect(await operationsLeft('n1.5f', 5)).toBe(1);
  expect(await operationsLeft('n1.5f', 4)).toBe(1);
  expect(await operationsLeft('n1.5f0', 6)).toBe(1);
  expect(await operationsLeft('n3.5f', 6)).toBe(1);
});
