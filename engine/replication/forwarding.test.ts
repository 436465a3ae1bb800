/** Forwarded writes: the next replica is asked only if the one before has certainly written nothing. */
import { expect, test } from 'vitest';

import { LockstepError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { KeyPlacement } from '../cluster/ring/key-placement.ts';
import { TestClock } from '../api/testing/test-io.fixture.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import type { MemoryStore } from '../replica/key-slots.ts';
import { plainContent } from '../replica/object/content.ts';
import { Forwarding } from './forwarding.ts';
import type { PeerLinks } from './peer-links.ts';
import { nothingLost } from '../replica/replica-harness.fixture.ts';
import { roundPartsOf } from './round-parts.fixture.ts';

function member(node: string, rack: string): Member {
  return { node: node as NodeId, datacenter: 'dc', rack, tokens: [0 as Token] };
}

const n1 = member('n1', 'r1');
const ring = new Ring([n1, member('n2', 'r2'), member('n3', 'r3')]);
const noStore: MemoryStore = {
  inMemory: () => undefined,
  tryRead: () => 'closed',
  tryReadDoubted: () => 'closed',
  ...nothingLost,
  tryWrite: () => 'closed',
};

interface Forwarded {
  readonly asked: number;
  readonly heard: unknown;
  /** The time that each replica was given, in microseconds. */
  readonly given: readonly number[];
}

/** Forwards a write while every replica answers with the error, after `answerUs`. */
async function forwarded(code: ErrorCode, answerUs = 0): Promise<Forwarded> {
  const clock = new TestClock();
  const given: number[] = [];
  const plane: PeerLinks = {
    request: (_peer, _request, timeoutUs, onReply) => {
      given.push(timeoutUs);
      clock.advance(answerUs);
      onReply({ kind: 'failed', code, detail: 'for the test' });
      return 'ok';
    },
  };
  const forwarding = new Forwarding(roundPartsOf({ self: n1, ring, plane, store: noStore, clock }));
  const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
  const content = plainContent(Buffer.from('v'), 'text/plain');
  const request = { key, need: 'default', context: [], content } as const;
  const place = new KeyPlacement(7 as Token, ring);
  const heard = await forwarding
    .run(request, 'default', place, clock.nowUs() + 1_000_000, undefined)
    .catch((error: unknown) => (error instanceof LockstepError ? error.code : error));
  return { asked: given.length, heard, given };
}

test('a replica that may have taken the write is the last one asked: a second one would write it anew', async () => {
  for (const code of ['PeerGone', 'Timeout', 'StorageFailed', 'NoQuorum', 'Internal', 'Overloaded'] as const)
    expect(await forwarded(code), code).toMatchObject({ asked: 1, heard: code });
});

test('a replica that certainly took nothing is followed by the next', async () => {
  for (const code of ['NoTargets', 'Corrupted'] as const)
    expect(await forwarded(code), code).toMatchObject({ asked: 2, heard: code });
});

test('all replicas together have the time of the request', async () => {
  expect((await forwarded('NoTargets', 300_000)).given).toEqual([1_000_000, 700_000]);
  expect(await forwarded('NoTargets', 1_000_000)).toEqual({
    asked: 1,
    heard: 'NoTargets',
    given: [1_000_000],
  });
});
