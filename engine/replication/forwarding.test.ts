/** Forwarded writes: the next replica is asked only if the one before has certainly written nothing. */
import { expect, test } from 'vitest';

import { LockstepError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { KeyPlacement } from '../cluster/ring/key-placement.ts';
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

/** Forwards a write while every replica answers with the error; the replicas that are asked, and the client's error. */
async function forwarded(code: ErrorCode): Promise<{ readonly asked: number; readonly heard: unknown }> {
  let asked = 0;
  const plane: PeerLinks = {
    request: (_peer, _request, _timeoutUs, onReply) => {
      asked += 1;
      onReply({ kind: 'failed', code, detail: 'for the test' });
      return 'ok';
    },
  };
  const forwarding = new Forwarding(roundPartsOf({ self: n1, ring, plane, store: noStore }));
  const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
  const content = plainContent(Buffer.from('v'), 'text/plain');
  const request = { key, need: 'default', context: [], content } as const;
  const place = new KeyPlacement(7 as Token, ring);
  const heard = await forwarding
    .run(request, 'default', place, 1_000_000, undefined)
    .catch((error: unknown) => (error instanceof LockstepError ? error.code : error));
  return { asked, heard };
}

test('a replica that may have taken the write is the last one asked: a second one would write it anew', async () => {
  for (const code of ['PeerGone', 'Timeout', 'StorageFailed', 'NoQuorum', 'Internal', 'Overloaded'] as const)
    expect(await forwarded(code), code).toEqual({ asked: 1, heard: code });
});

test('a replica that certainly took nothing is followed by the next', async () => {
  for (const code of ['NoTargets', 'Corrupted'] as const)
    expect(await forwarded(code), code).toEqual({ asked: 2, heard: code });
});
