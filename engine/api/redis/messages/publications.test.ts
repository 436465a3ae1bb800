/** Tests of messages between nodes: what is lost, what is counted, and the order, whatever happens to the links. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NodeId } from '../../../base/ids.ts';
import { byteStringOf } from '../../../base/ids.ts';
import type { PeerReply } from '../../../peer/wire/messages.ts';
import type { ReplyHandler } from '../../../replication/peer-links.ts';
import { TestClock, TestLog } from '../../testing/test-io.fixture.ts';
import type { Message } from './message.ts';
import { answerUsMax } from './peer-outlet.ts';
import { Publications } from './publications.ts';
import type { Subscriber } from './subscriptions.ts';

/** A request from `n1` to `n2` that the test delivers, or fails. */
interface Sent {
  readonly words: Uint8Array;
  readonly timeoutUs: number;
  readonly onReply: ReplyHandler;
}

class Reader implements Subscriber {
  readonly version = 2;
  readonly got: string[] = [];

  push(bytes: Buffer): boolean {
    this.got.push(bytes.toString('latin1').split('\r\n').at(-2) ?? '');
    return true;
  }

  flushPushes(): void {
    // Each push is noted at once.
  }
}

/** Two nodes; `n1` publishes, and both have a subscriber of `one`. */
class Pair {
  readonly clock = new TestClock();
  readonly sent: Sent[] = [];
  readonly readers = [new Reader(), new Reader()] as const;
  outcome: 'ok' | 'full' | 'closed' = 'ok';
  generation = 1;
  readonly n2 = this.#node('n2');
  n1 = this.#node('n1');

  constructor() {
    this.n1.subscriptions.add('channel', byteStringOf('one'), this.readers[0]);
    this.n2.subscriptions.add('channel', byteStringOf('one'), this.readers[1]);
  }

  publish(payload: string, counts: number[] = []): number[] {
    this.n1.publish(messageOf(payload), (count) => counts.push(count));
    return counts;
  }

  /** The peer handles a request. `answer`: whether its answer arrives. */
  deliver(index: number, answer = true): void {
    const [sent] = this.sent.splice(index, 1);
    if (sent === undefined) return;
    let reply: PeerReply | undefined;
    this.n2.answer('n1' as NodeId, sent.words, (given) => (reply = given));
    sent.onReply(answer && reply !== undefined ? reply : gone);
  }

  /** The publisher's node starts again. */
  restart(): void {
    this.generation += 1;
    this.n1 = this.#node('n1');
    this.n1.subscriptions.add('channel', byteStringOf('one'), this.readers[0]);
  }

  #node(name: string): Publications {
    return new Publications({
      io: { clock: this.clock, log: new TestLog() },
      links: {
        request: (_peer, request, timeoutUs, onReply) => {
          if (this.outcome === 'ok' && 'words' in request) {
            this.sent.push({ words: Buffer.from(request.words), timeoutUs, onReply });
          }
          return this.outcome;
        },
      },
      peers: () => (name === 'n1' ? ['n2' as NodeId] : []),
      generation: () => this.generation,
      answerBytesMax: 1000,
      pageItems: 1000,
    });
  }
}

const gone: PeerReply = { kind: 'failed', code: 'PeerGone', detail: 'gone' };

function messageOf(payload: string): Message {
  return { isShard: false, channel: byteStringOf('one'), payload: Buffer.from(payload) };
}

test('a message goes to the subscribers of all nodes, and the publisher learns how many they are', () => {
  const pair = new Pair();
  const counts = pair.publish('a');
  expect([counts, pair.readers[0].got, pair.readers[1].got]).toEqual([[], ['a'], []]);
  pair.deliver(0);
  expect([counts, pair.readers[1].got]).toEqual([[2], ['a']]);
  expect(pair.n1.counts.published).toBe(1);
  expect([pair.n1.counts.delivered, pair.n2.counts.delivered]).toEqual([1, 1]);
});

test('few batches are under way; what waits forms the next one', () => {
  const pair = new Pair();
  const counts: number[] = [];
  for (let index = 0; index < 1500; index++) pair.publish(String(index), counts);
  expect(pair.sent.length).toBe(4);
  let batches = 0;
  for (; pair.sent.length > 0; batches++) pair.deliver(0);
  expect(batches).toBe(6);
  expect(counts).toEqual(Array.from({ length: 1500 }, () => 2));
  expect(pair.readers[1].got).toEqual(Array.from({ length: 1500 }, (_, index) => String(index)));
});

test.each(['closed', 'full'] as const)('a message to a %s link is lost, and counted', (outcome) => {
  const pair = new Pair();
  pair.outcome = outcome;
  expect(pair.publish('a')).toEqual([1]);
  expect(pair.n1.counts.unconfirmed).toBe(1);
  pair.outcome = 'ok';
  const counts = pair.publish('b');
  pair.deliver(0);
  expect([counts, pair.readers[1].got]).toEqual([[2], ['b']]);
});

test('a publisher waits no longer than a second, also behind messages that wait', () => {
  const pair = new Pair();
  const counts: number[] = [];
  for (let index = 0; index < 4; index++) pair.publish('first', counts);
  pair.clock.advance(answerUsMax / 2);
  pair.publish('second', counts);
  pair.clock.advance(answerUsMax / 2);
  for (const { onReply } of pair.sent.splice(0)) onReply({ kind: 'failed', code: 'Timeout', detail: '' });
  expect([counts, pair.sent.length]).toEqual([[1, 1, 1, 1], 1]);
  expect(pair.sent[0]?.timeoutUs).toBe(answerUsMax / 2);
  // A batch that cannot be sent before its end is not sent at all.
  for (let index = 0; index < 5; index++) pair.publish('third', counts);
  pair.clock.advance(answerUsMax);
  for (const { onReply } of pair.sent.splice(0)) onReply({ kind: 'failed', code: 'Timeout', detail: '' });
  expect([counts.length, pair.sent.length, pair.n1.counts.unconfirmed]).toEqual([10, 0, 10]);
});

test('malformed words are refused and harm nothing', () => {
  const pair = new Pair();
  pair.publish('a');
  const whole = pair.sent[0]?.words ?? Buffer.alloc(0);
  const broken = [
    Buffer.alloc(0),
    Buffer.from([9]),
    whole.subarray(0, whole.length - 1),
    Buffer.concat([whole, whole]),
  ];
  for (const words of [...broken, Buffer.from([3, 0, 255, 255, 255, 127])]) {
    const replies: PeerReply[] = [];
    pair.n2.answer('n1' as NodeId, words, (reply) => replies.push(reply));
    expect(replies).toMatchObject([{ kind: 'failed', code: 'BadRequest' }]);
  }
  expect(pair.readers[1].got).toEqual([]);
});

test('questions ask all nodes; a peer with too many names is an error, one that is gone is left out', async () => {
  const pair = new Pair();
  const two = new Reader();
  for (const name of ['one', 'two']) pair.n2.subscriptions.add('channel', byteStringOf(name), two);
  pair.n2.subscriptions.add('pattern', byteStringOf('x*'), two);
  const channels = [byteStringOf('one'), byteStringOf('two'), byteStringOf('three')];
  const counts = pair.n1.subscribersOf(channels, false);
  pair.deliver(0);
  expect(await counts).toEqual([3, 1, 0]);
  const names = pair.n1.channels(false, byteStringOf('*o*'));
  pair.deliver(0);
  expect(await names).toEqual(['one', 'two']);
  const patterns = pair.n1.patternCount();
  pair.deliver(0);
  expect(await patterns).toBe(1);
  const alone = pair.n1.channels(false, undefined);
  pair.deliver(0, false);
  expect(await alone).toEqual(['one']);
  pair.n2.subscriptions.add('channel', byteStringOf('y'.repeat(1000)), two);
  const many = pair.n1.channels(false, undefined);
  pair.deliver(0);
  await expect(many).rejects.toMatchObject({ code: 'TooLarge' });
});

test('whatever the links do, a subscriber gets each message at most once, and in order', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'publish' as const }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('deliver' as const), at: fc.nat(3), answer: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('twice' as const), at: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'lose' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'cut' as const }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const pair = new Pair();
      const counts: number[] = [];
      let published = 0;
      for (const one of steps) {
        if (one.kind === 'publish') pair.publish(String(published++), counts);
        else if (one.kind === 'deliver') pair.deliver(one.at, one.answer);
        else if (one.kind === 'twice') {
          // Bytes of a connection that was replaced arrive behind the same request of the next one.
          const again = pair.sent[one.at];
          pair.deliver(one.at);
          if (again !== undefined) pair.n2.answer('n1' as NodeId, again.words, () => undefined);
        } else if (one.kind === 'lose') pair.sent.shift()?.onReply(gone);
        else if (one.kind === 'restart') pair.restart();
        else pair.outcome = pair.outcome === 'ok' ? 'closed' : 'ok';
      }
      const numbers = pair.readers[1].got.map(Number);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((one, two) => one - two));
      expect(pair.readers[0].got.length).toBe(published);
      expect(pair.n2.counts.delivered).toBe(numbers.length);
      pair.outcome = 'closed';
      for (const { onReply } of pair.sent.splice(0)) onReply(gone);
      expect(counts.length).toBeLessThanOrEqual(published);
    }),
    { numRuns: 200 },
  );
});
