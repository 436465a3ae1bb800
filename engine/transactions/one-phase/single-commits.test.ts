import { describe, expect, it } from 'vitest';

import { TestClock, TestLog } from '../../api/testing/test-io.fixture.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { objectKey } from '../../base/object-key.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../../peer/wire/messages.ts';
import type { TransactionOutcome } from '../formats/outcomes.ts';
import { SingleCommits } from './single-commits.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import { decodeRequest, encodeReply } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';
import { makeXid } from '../formats/xid.fixture.ts';

const n1 = 'n1' as NodeId;
const n2 = 'n2' as NodeId;
const name = byteStringOf('b');

/** A single put at n2. */
const order: PrepareRequest = {
  coordinator: n1,
  level: 'DC_QUORUM',
  clientId: '',
  clientDigest: byteStringOf(''),
  branches: [{ node: n2, writes: true, life: 1 }],
  operations: [
    {
      key: objectKey(name, name, name).packed,
      token: 7 as Token,
      content: { ...tombstone, tombstone: false },
      context: undefined,
      ifMatch: undefined,
      ifAbsent: false,
      check: false,
    },
  ],
};

describe('a single put at a primary of an earlier version', () => {
  it('is sent as a one-step commit while that incarnation lasts, and as a put again to the next', async () => {
    const asked: string[] = [];
    const patienceUs: number[] = [];
    const clock = new TestClock();
    let life = 1;
    const request = (
      _: NodeId,
      message: PeerRequest,
      timeoutUs: number,
      reply: (reply: PeerReply) => void,
    ): 'ok' => {
      if (message.kind !== 'transact') throw new Error(`asked for ${message.kind}`);
      const { kind } = decodeRequest(message.words);
      asked.push(kind);
      patienceUs.push(timeoutUs);
      clock.advance(200_000);
      const older: PeerReply = { kind: 'failed', code: 'BadRequest', detail: 'a word of number 8' };
      const done: PeerReply = { kind: 'transacted', words: encodeReply({ kind: 'ended', met: true }) };
      queueMicrotask(() => reply(kind === 'put' && life === 1 ? older : done));
      return 'ok';
    };
    const member = (node: NodeId): Member => ({ node, datacenter: 'dc1', rack: 'r1', tokens: [] });
    const settings = { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 1000 } as const;
    const stats = new NodeStats();
    const context = {
      io: {
        clock,
        log: new TestLog(),
        spawn: () => expect.unreachable('no answer is lost'),
      },
      parts: { self: member(n1), member, plane: { request }, stats, peerIndex: () => 0, settings },
      lives: { own: () => 1, of: () => life, isOver: () => false },
    };
    const branches = { commitAlone: () => Promise.reject(new Error('it is not here')) };
    const outcomes = {
      keepAs: () => undefined,
      keepUnknown: () => undefined,
      release: () => undefined,
      repeated: ({ xid }: { readonly xid: Xid }) => ({ kind: 'inDoubt', xid }) as const,
    };
    const singles = new SingleCommits(context, branches, outcomes, (_, told) => Promise.resolve(told));
    let counter = 0;
    const run = (): Promise<TransactionOutcome> =>
      singles.run(makeXid(n1, '0123456789ab', ++counter), n2, order, 1_000_000);
    expect((await run()).kind).toBe('committed');
    expect(asked).toEqual(['put', 'commitAlone']);
    // The second request has the rest of the transaction's time.
    expect(patienceUs).toEqual([750_000, 600_000]);
    expect((await run()).kind).toBe('committed');
    expect(asked).toEqual(['put', 'commitAlone', 'commitAlone']);
    life = 2;
    expect((await run()).kind).toBe('committed');
    expect(asked.slice(3)).toEqual(['put']);
  });
});
