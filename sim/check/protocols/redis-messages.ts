/**
 * `messages` (INV37), what publish and subscribe promises (engine/api/redis/README.md), from what publishers and
 * listeners saw. A message that waits for nothing else is judged by itself:
 *
 * - a listener hears only what a client published, on a channel that it subscribes to, between the confirmation of that
 *   subscription and that of its end, and each message at most once by each subscription; nothing that was refused;
 * - messages of one publisher's connection on one channel come in the order in which it sent them;
 * - PUBLISH counts no subscription that certainly did not get the message;
 * - a listener hears every message that was published through its own node while it was subscribed, whatever else
 *   happens; in a run without faults also those of other nodes, and PUBLISH counts all of them.
 *
 * Skipped: what a listener whose connection was lost did not hear, and messages without an answer that no listener heard.
 */
import type { ListenPlan, PublishedMessage, Subscription } from '../../evidence/redis-messages.ts';
import { isFor, letters, listenPlan, publishCommands } from '../../evidence/redis-messages.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** What the check reads. */
export interface MessagesEvidence {
  readonly redis: readonly RedisRecord[];
  /** The plan has no faults. */
  readonly undisturbed: boolean;
}

/** The row of `messages`. */
export const messagesRow = invariant({
  name: 'messages',
  code: 'INV37',
  promise: 'a message reaches its subscribers once at most',
  gravity: 'data',
  breach: 'subscribers act on a message twice, in a wrong order, or on one that was not for them',
  needs: [],
  check: ({ redis, undisturbed }: MessagesEvidence) => {
    return redis.some(({ kind }) => kind === 'listen') ? checkMessages(redis, undisturbed) : undefined;
  },
});

/** One message of one publisher. */
interface Sent {
  readonly record: RedisRecord;
  readonly index: number;
  readonly message: PublishedMessage;
  /** What PUBLISH answered: undefined: nothing; `refused`: an error. */
  readonly count: number | 'refused' | undefined;
  readonly doneUs: number;
}

/** One subscription of one listener. */
interface Heard {
  readonly record: RedisRecord;
  readonly plan: ListenPlan;
  readonly subscription: Subscription;
  /** When its begin, and its end, were confirmed. */
  begunUs: number | undefined;
  endedUs: number | undefined;
  /** The messages, and when they came. */
  readonly messages: Map<Sent, number>;
}

/** Checks all messages of a run. */
export function checkMessages(records: readonly RedisRecord[], undisturbed: boolean): CheckReport {
  const tally = new Tally('messages');
  const sent = records.flatMap((record) => (record.kind === 'publish' ? sentBy(record) : []));
  const byText = new Map(sent.map((one) => [one.message.text, one]));
  const heard = records.flatMap((record) => (record.kind === 'listen' ? heardBy(record, byText, tally) : []));
  for (const one of heard) checkOrder(one, tally);
  for (const one of sent) {
    const meant = heard.filter(({ subscription }) => isFor(subscription, one.message));
    checkArrival(one, meant, undisturbed, tally);
    checkCount(one, meant, undisturbed, tally);
  }
  return tally.report();
}

function sentBy(record: RedisRecord): readonly Sent[] {
  const { replies, repliedUs = [], completedUs } = record;
  // Without a connection nothing was sent.
  if (record.connection === undefined) return [];
  const commands = publishCommands(record);
  const exec = commands.length - 1;
  const execParts = partsOf(replies[exec] ?? '');
  return commands.flatMap(({ message, queued }, at): readonly Sent[] => {
    if (message === undefined) return [];
    const answer = queued && replies[exec]?.startsWith('-') !== true ? execParts[at - 1] : replies[at];
    const reply = queued && replies[exec]?.startsWith('-') === true ? replies[exec] : answer;
    const doneUs = (queued ? repliedUs[exec] : repliedUs[at]) ?? completedUs;
    const index = Number(message.text.split('.')[1]);
    return [{ record, index, message, count: countOf(reply), doneUs }];
  });
}

function countOf(reply: string | undefined): Sent['count'] {
  if (reply === undefined || reply === '+QUEUED') return undefined;
  return reply.startsWith(':') ? Number(reply.slice(1)) : 'refused';
}

/** The parts of an array's text; none if it is no array. */
function partsOf(reply: string): readonly string[] {
  return reply.startsWith('*') ? (JSON.parse(reply.slice(1)) as readonly string[]) : [];
}

/** What each subscription of a listener heard; compares every message with what was published. */
function heardBy(record: RedisRecord, byText: ReadonlyMap<string, Sent>, tally: Tally): readonly Heard[] {
  const plan = listenPlan(record);
  const all = plan.subscriptions.map((subscription): Heard => ({
    ...{ record, plan, subscription, begunUs: undefined, endedUs: undefined },
    messages: new Map(),
  }));
  record.replies.forEach((reply, index) => {
    const atUs = record.repliedUs?.[index] ?? record.completedUs;
    const [word = '', name = '', ...rest] = partsOf(reply).map((part) => part.slice(1));
    const own = all.find(
      ({ subscription }) => word.startsWith(letters[subscription.kind]) && isNamed(subscription, word, name),
    );
    if (word.endsWith('message')) takeMessage(own, { word, name, rest, atUs, record }, byText, tally);
    else if (own === undefined) return;
    else if (word.endsWith('unsubscribe')) own.endedUs = atUs;
    else own.begunUs = atUs;
  });
  return all;
}

function isNamed({ kind, name: own }: Subscription, word: string, name: string): boolean {
  return (
    own === name &&
    [`${letters[kind]}subscribe`, `${letters[kind]}unsubscribe`, `${letters[kind]}message`].includes(word)
  );
}

/** One message as its listener got it. `rest`: what follows the name of the channel or pattern. */
interface Arrived {
  readonly word: string;
  readonly name: string;
  readonly rest: readonly string[];
  readonly atUs: number;
  readonly record: RedisRecord;
}

function takeMessage(
  own: Heard | undefined,
  { word, name, rest, atUs, record }: Arrived,
  byText: ReadonlyMap<string, Sent>,
  tally: Tally,
): void {
  const channel = word === 'pmessage' ? (rest[0] ?? '') : name;
  const text = rest.at(-1) ?? '';
  const what = `${word} ${name} ${text.slice(0, 40)} at ${describeRedis(record)}`;
  const isOpen = own?.begunUs !== undefined && own.endedUs === undefined;
  tally.compare(isOpen, atUs, () => `${what}: the listener was not subscribed to it`);
  const sent = byText.get(text);
  const isSent =
    sent !== undefined &&
    sent.message.channel === channel &&
    sent.message.isShard === (word === 'smessage') &&
    sent.record.invokedUs <= atUs;
  tally.compare(isSent, atUs, () => `${what}: no client had published that on ${channel}`);
  if (sent === undefined || own === undefined) return;
  tally.compare(sent.count !== 'refused', atUs, () => {
    return `${what}: its publisher was refused: ${describeRedis(sent.record)}`;
  });
  tally.compare(
    isFor(own.subscription, sent.message),
    atUs,
    () => `${what}: it does not match ${own.subscription.name}`,
  );
  tally.compare(!own.messages.has(sent), atUs, () => `${what}: it came twice`);
  own.messages.set(sent, atUs);
}

/** Messages of one connection of a publisher come in its order. */
function checkOrder({ record, messages }: Heard, tally: Tally): void {
  const last = new Map<string, Sent>();
  for (const [one, atUs] of messages) {
    const { client, connection } = one.record;
    const line = `${client} ${connection} ${one.message.channel}`;
    const before = last.get(line);
    last.set(line, one);
    if (before === undefined) continue;
    tally.compare(isBefore(before, one), atUs, () => {
      return `${nameOf(before)} came before ${nameOf(one)}, which the same connection had sent earlier, at ${describeRedis(record)}`;
    });
  }
}

/** Both are of one client. */
function isBefore(one: Sent, other: Sent): boolean {
  if (one.record === other.record) return one.index < other.index;
  return one.record.invokedUs < other.record.invokedUs;
}

/** A listener that was subscribed throughout, and whose connection lasted, heard the message. */
function checkArrival(sent: Sent, meant: readonly Heard[], undisturbed: boolean, tally: Tally): void {
  const { record, count, doneUs } = sent;
  if (typeof count !== 'number') return tally.skip();
  for (const { record: listener, begunUs, endedUs, messages } of meant) {
    const { leftUs = -1, node } = listener;
    if (begunUs === undefined || begunUs > record.invokedUs || leftUs < doneUs) continue;
    if (endedUs === undefined || (node !== record.node && !undisturbed)) {
      tally.skip();
      continue;
    }
    tally.compare(messages.has(sent), doneUs, () => {
      return `${nameOf(sent)} of ${describeRedis(record)} did not reach ${describeRedis(listener)}`;
    });
  }
}

/** Whether the subscription may have got the message without the listener's knowing. */
function mayHaveGot({ record, endedUs, messages }: Heard, sent: Sent): boolean {
  return !messages.has(sent) && endedUs === undefined && record.invokedUs <= sent.doneUs;
}

function checkCount(sent: Sent, meant: readonly Heard[], undisturbed: boolean, tally: Tally): void {
  const { count, doneUs, record } = sent;
  if (typeof count !== 'number') return;
  const got = meant.filter(({ messages }) => messages.has(sent)).length;
  const most = got + meant.filter((heard) => mayHaveGot(heard, sent)).length;
  tally.compare(count <= most, doneUs, () => {
    return `${nameOf(sent)} of ${describeRedis(record)} was counted ${count} times; ${most} subscriptions can have got it`;
  });
  if (!undisturbed) return;
  tally.compare(count >= got, doneUs, () => {
    return `${nameOf(sent)} of ${describeRedis(record)} was counted ${count} times; ${got} subscriptions got it`;
  });
}

function nameOf({ message: { channel, text } }: Sent): string {
  return `${text.slice(0, 40)} on ${channel}`;
}
