import { expect, it } from 'vitest';

import type { RedisRecord } from '../../evidence/redis.ts';
import { listenPlan, publishCommands } from '../../evidence/redis-messages.ts';
import { checkMessages } from './redis-messages.ts';

/** Seeds whose operations are the plainest: one subscription to a channel; messages of PUBLISH without MULTI. */
const listening = seedWith((amount) => {
  const { subscriptions } = listenPlan({ key: 0, amount });
  return subscriptions.length === 1 && subscriptions[0]?.kind === 'channel';
});
const publishing = seedWith((amount) => {
  const commands = publishCommands({ id: 'q1', key: 0, amount });
  return commands.length === 2 && commands.every(({ words: [word] }) => word === 'PUBLISH');
});

function seedWith(fits: (amount: number) => boolean): number {
  return Array.from({ length: 1_000 }, (_, index) => (index + 1) * 7_654_321).find(fits) ?? 0;
}

const texts = publishCommands({ id: 'q1', key: 0, amount: publishing }).map(({ message }) => message?.text);
const [one = '', two = ''] = texts;

function record(about: Partial<RedisRecord>): RedisRecord {
  return {
    ...{ id: 'q0', kind: 'listen', client: 'r0', node: 'n1', datacenter: 'dc1', key: 0, other: 0 },
    ...{ amount: listening, invokedUs: 0, completedUs: 9_000, outcome: 'ok', reason: '', counted: undefined },
    ...{ balances: [], found: undefined, replies: [], final: false },
    ...about,
  };
}

function array(...words: readonly string[]): string {
  return `*${JSON.stringify(words)}`;
}

/** A listener that got these messages, and perhaps some behind its end. */
function listener(messages: readonly string[], after: readonly string[] = []): RedisRecord {
  const arrived = (text: string): string => array('=message', '=ch0', `=${text}`);
  const replies = [
    array('=subscribe', '=ch0', ':1'),
    ...messages.map(arrived),
    array('=unsubscribe', '=ch0', ':0'),
    ...after.map(arrived),
  ];
  const repliedUs = replies.map((_, index) => (index === 0 ? 100 : 5_000 + index));
  return record({ replies, repliedUs, leftUs: 4_500 });
}

function publisher(replies: readonly string[]): RedisRecord {
  const about = { id: 'q1', kind: 'publish', client: 'r1', amount: publishing, connection: 1 } as const;
  return record({ ...about, invokedUs: 1_000, completedUs: 2_000, replies, repliedUs: [1_500, 2_000] });
}

const counted = publisher([':1', ':1']);

function reasonsOf(...records: readonly RedisRecord[]): string {
  return checkMessages(records, true).reasons.join('\n');
}

it('messages that come once, in order, keep every promise', () => {
  const report = checkMessages([listener([one, two]), counted], true);
  expect(report.reasons).toEqual([]);
  expect(report.checked).toBe(17);
});

it('a message that comes twice is noticed', () => {
  expect(reasonsOf(listener([one, one, two]), counted)).toContain('it came twice');
});

it('messages in the wrong order are noticed', () => {
  expect(reasonsOf(listener([two, one]), counted)).toContain('which the same connection had sent earlier');
});

it('a message to a client that is not subscribed any more is noticed', () => {
  expect(reasonsOf(listener([one], [two]), counted)).toContain('was not subscribed');
});

it('a message that no client published, or that was refused, is noticed', () => {
  expect(reasonsOf(listener(['q7.0.']), counted)).toContain('no client had published');
  const refused = publisher(['-STANDBY', '-STANDBY']);
  expect(reasonsOf(listener([one]), refused)).toContain('its publisher was refused');
});

it('a message that did not come is noticed at the node of its publisher alone, or without faults', () => {
  expect(reasonsOf(listener([two]), counted)).toContain('did not reach');
  const far = { ...listener([two]), node: 'n2' };
  const few = publisher([':0', ':1']);
  expect(checkMessages([far, few], false).reasons).toEqual([]);
  expect(checkMessages([far, few], true).ok).toBe(false);
});

it('a count of more subscriptions than got the message is noticed; a lost listener may have got it', () => {
  const twice = publisher([':2', ':1']);
  expect(reasonsOf(listener([one, two]), twice)).toContain('1 subscriptions can have got it');
  const lost = record({ outcome: 'fail', replies: [array('=subscribe', '=ch0', ':1')], repliedUs: [100] });
  expect(checkMessages([listener([one, two]), lost, twice], false).reasons).toEqual([]);
});
