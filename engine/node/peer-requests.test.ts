import { expect, test } from 'vitest';

import { TestClock, settle } from '../api/testing/test-io.fixture.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import { heardLinks } from './peer-requests.ts';

const peer = 'n2' as NodeId;
const read = { kind: 'readObject', key: 'k' as PackedKey, token: 1 as Token } as const;

/** Links to a peer whose bucket properties are being asked for. */
class Asking {
  readonly clock = new TestClock();
  readonly hearing = new Deferred<boolean>();
  /** Timeouts of the requests that were sent, in microseconds. */
  readonly sent: number[] = [];
  readonly replies: PeerReply[] = [];
  readonly #links: PeerLinks;

  constructor() {
    const io = {
      clock: this.clock,
      spawn: (_: string, task: () => Promise<void>): void => void task().catch(expect.unreachable),
    };
    const plane: PeerLinks = {
      request: (_, __, timeoutUs) => {
        this.sent.push(timeoutUs);
        return 'ok';
      },
    };
    const keeper = { hasHeard: () => false, hear: () => this.hearing.promise };
    this.#links = heardLinks(
      io,
      plane,
      () => true,
      () => keeper,
    );
  }

  request(timeoutUs: number): string {
    return this.#links.request(peer, read, timeoutUs, (reply) => void this.replies.push(reply));
  }
}

test('a request that waits for the properties of a peer is sent with the rest of its time', async () => {
  const asking = new Asking();
  expect(asking.request(1_000_000)).toBe('ok');
  asking.clock.advance(400_000);
  asking.hearing.resolve(true);
  await settle();
  expect([asking.sent, asking.replies]).toEqual([[600_000], []]);
  asking.clock.advance(1_000_000);
  await settle();
  expect(asking.replies).toEqual([]);
});

test('a request whose time passes while it waits for the properties of a peer ends with Timeout, once', async () => {
  const asking = new Asking();
  asking.request(1_000_000);
  asking.clock.advance(1_000_000);
  await settle();
  asking.hearing.resolve(true);
  await settle();
  expect(asking.replies).toMatchObject([{ kind: 'failed', code: 'Timeout' }]);
  expect(asking.sent).toEqual([]);
});

test('a request to a peer that says nothing of its properties ends with PeerGone', async () => {
  const asking = new Asking();
  asking.request(1_000_000);
  asking.hearing.resolve(false);
  await settle();
  expect(asking.replies).toMatchObject([{ kind: 'failed', code: 'PeerGone' }]);
});
