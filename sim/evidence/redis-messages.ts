/**
 * What Redis clients publish and subscribe to. Plain data and pure functions of an operation's id, key and amount, so
 * that a plan need not hold the commands. Channels are `ch<n>`; PUBLISH and SPUBLISH use the same names, which are
 * different channels.
 */
import { choices } from './redis-pipelines.ts';

/** Number of channels of each sort. */
export const channelCount = 4;

/** A message as its publisher names it. */
export interface PublishedMessage {
  /** Sent by SPUBLISH. */
  readonly isShard: boolean;
  readonly channel: string;
  /** `<operation>.<index>.` and padding: no two messages of a run are equal. */
  readonly text: string;
}

/** One command of a publisher. */
export interface PublishCommand {
  readonly words: readonly string[];
  /** Absent: MULTI, EXEC, or a SET between them. */
  readonly message?: PublishedMessage;
  /** It stands between MULTI and EXEC. */
  readonly queued: boolean;
}

/** What a subscription names, as the engine's metrics call it. */
export type ListenKind = 'channel' | 'pattern' | 'shard';

/** One subscription. */
export interface Subscription {
  readonly kind: ListenKind;
  readonly name: string;
}

/** What one listener does. */
export interface ListenPlan {
  readonly subscriptions: readonly Subscription[];
  /** How long it listens, in microseconds. */
  readonly forUs: number;
  /** How long of that it reads nothing; 0: it always reads. */
  readonly deafUs: number;
}

type Drawn = { readonly id: string; readonly key: number; readonly amount: number };

/** The commands of one `publish` operation: one to four messages on one channel, some between MULTI and EXEC. */
export function publishCommands({ id, key, amount }: Drawn): readonly PublishCommand[] {
  const next = choices(amount);
  const isShard = next(4) === 0;
  const padding = next(3) === 0 ? 'x'.repeat(next(3_000)) : '';
  const queued = next(4) === 0;
  const written = queued && next(2) === 0 ? [command(['SET', `b${key}`, id], true)] : [];
  const messages = Array.from({ length: 1 + next(4) }, (_, index): PublishCommand => {
    const message = { isShard, channel: channelOf(key), text: `${id}.${index}.${padding}` };
    return { words: [isShard ? 'SPUBLISH' : 'PUBLISH', message.channel, message.text], message, queued };
  });
  if (!queued) return messages;
  return [command(['MULTI'], false), ...written, ...messages, command(['EXEC'], false)];
}

/** What one `listen` operation subscribes to, and for how long. */
export function listenPlan({ key, amount }: Omit<Drawn, 'id'>): ListenPlan {
  const next = choices(amount);
  const kind = (['channel', 'channel', 'pattern', 'shard'] as const)[next(4)] ?? 'channel';
  const more = next(3) === 0;
  const other = next(channelCount);
  const names =
    kind === 'pattern' ? [patternOf(next(3), key)] : distinct(channelOf(key), channelOf(more ? other : key));
  const subscriptions = names.map((name): Subscription => ({ kind, name }));
  // Its channel, too: it gets such a message once by each subscription.
  if (kind === 'pattern' && more) subscriptions.push({ kind: 'channel', name: channelOf(key) });
  const forUs = 100_000 + next(900_000);
  return { subscriptions, forUs, deafUs: next(5) === 0 ? Math.floor(forUs / 2) : 0 };
}

/** Whether a message goes to a subscription. */
export function isFor({ kind, name }: Subscription, { isShard, channel }: PublishedMessage): boolean {
  if (isShard !== (kind === 'shard')) return false;
  return kind === 'pattern' ? matches(name, channel) : name === channel;
}

/** The words of the commands that begin, or end, subscriptions: one command for each kind. */
export function subscribeCommands(
  subscriptions: readonly Subscription[],
  ends: boolean,
): readonly (readonly string[])[] {
  return (['channel', 'pattern', 'shard'] as const).flatMap((kind) => {
    const names = subscriptions.filter((one) => one.kind === kind).map(({ name }) => name);
    return names.length === 0 ? [] : [[`${letters[kind]}${ends ? 'unsubscribe' : 'subscribe'}`, ...names]];
  });
}

/** What precedes `subscribe`, `unsubscribe` and `message` in the words of each kind. */
export const letters: Readonly<Record<ListenKind, string>> = { channel: '', pattern: 'p', shard: 's' };

function command(words: readonly string[], queued: boolean): PublishCommand {
  return { words, queued };
}

function channelOf(key: number): string {
  return `ch${key}`;
}

function distinct(...names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

function patternOf(form: number, key: number): string {
  return ['ch*', `ch[${key}${(key + 1) % channelCount}]`, 'c?[^0]'][form] ?? 'ch*';
}

/** Only the forms of `patternOf`: a second matcher, independent of the engine's. */
function matches(pattern: string, channel: string): boolean {
  const digit = channel.slice(2);
  if (pattern === 'ch*') return true;
  return pattern === 'c?[^0]' ? digit !== '0' : pattern.slice(3, -1).includes(digit);
}
