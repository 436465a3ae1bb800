/** Runs commands that need the cluster, from the exchange to its reply. These functions never reject. */
import { LockstepError, asLockstepError } from '../../base/errors.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { AnswerSize, valueBytesOf } from './answer-size.ts';
import type { BatchResult, Step } from './batches.ts';
import { keysOf } from './commands.ts';
import type { Conversation } from './conversation.ts';
import type { Exchange, Task } from './exchange.ts';
import { keyOf } from './listener-dependencies.ts';
import { answerPubsub } from './messages/pubsub-command.ts';
import { halfDone, Refusal, refusalText, writeRefusalText } from './refusals.ts';
import { arrayReply, errorReply, integerReply, nilArrayReply, okReply } from './replies.ts';
import type { Database, SessionDependencies } from './session-dependencies.ts';

/** Runs a command that must be alone on its connection. */
export function runTask(
  dependencies: SessionDependencies,
  conversation: Conversation,
  exchange: Exchange,
  task: Task,
): Promise<void> {
  return settleWith(exchange, replyOf(dependencies, conversation, exchange, task));
}

/** Flushes databases in one step; key by key while the cluster has a member that knows no epochs. */
async function flush(databases: readonly Database[]): Promise<Buffer> {
  const [first] = databases;
  if (first === undefined) return okReply;
  const { type, beginEpochs } = first.parts;
  const buckets = databases.map(({ parts }) => parts.bucket);
  if (await beginEpochs(type, buckets)) return okReply;
  const progress = { isBegun: false };
  try {
    for (const { keyspace } of databases) await keyspace.deleteAll(progress);
  } catch (error) {
    throw progress.isBegun && error instanceof LockstepError ? halfDone(error) : error;
  }
  return okReply;
}

/** Runs a command on several keys, or the steps of a transaction under which no key is watched. */
export function runSteps(
  { watched }: Conversation,
  exchange: Exchange,
  steps: readonly Step[],
  exec: boolean,
): Promise<void> {
  return settleWith(exchange, reply());

  async function reply(): Promise<Buffer> {
    const { version, database } = exchange;
    const { batches } = database;
    // A script is a transaction, also if it only reads.
    const isIsolated = exec || steps.some(({ command }) => command.places?.countAt !== undefined);
    const mode = isIsolated ? 'isolated' : 'loose';
    // WATCH ends an EXEC alone. Other commands read no older than it did, and a script reads what is current anyway.
    const result = await batches.run(steps, isIsolated ? [] : watched, version, mode, exchange.times);
    const replies = await repliesOf(result, exchange);
    if (replies === undefined) return nilArrayReply(version);
    return exec ? arrayReply(replies) : (replies[0] ?? errorReply('ERR nothing was done'));
  }
}

async function settleWith(exchange: Exchange, reply: Promise<Buffer>): Promise<void> {
  try {
    exchange.settle(await reply);
  } catch (caught) {
    if (caught instanceof Refusal) exchange.fail(undefined, caught.message);
    else failWith(exchange, caught);
  }
}

async function replyOf(
  dependencies: SessionDependencies,
  conversation: Conversation,
  exchange: Exchange,
  task: Task,
): Promise<Buffer> {
  const { command, request, version, database } = exchange;
  switch (task) {
    case 'exec': {
      const taken = conversation.takeTransaction();
      const { steps, watched } = taken;
      const result = await database.batches.run(steps, watched, version, 'isolated', exchange.times);
      const replies = await repliesOf(result, exchange);
      if (replies === undefined) return nilArrayReply(version);
      taken.settle();
      return arrayReply(replies);
    }
    case 'watch':
      await watch(conversation, exchange);
      return okReply;
    case 'unwatch':
      conversation.watch([]);
      return okReply;
    case 'pubsub':
      return answerPubsub(request, dependencies.publications);
    case 'walk':
      if (command.name === 'flushdb') return flush([database]);
      if (command.name === 'flushall') return flush(dependencies.databases);
      return database.keyspace.answer(command, request, version);
  }
}

/**
 * The replies of a batch, once its messages have been published; undefined if a watched key has changed. Throws
 * `Refusal` if it failed; nothing is published then.
 */
async function repliesOf(result: BatchResult, exchange: Exchange): Promise<readonly Buffer[] | undefined> {
  if (result.kind === 'failed') throw new Refusal(result.text);
  if (result.kind === 'changed') return undefined;
  const { replies, notes } = result;
  if (notes.length === 0) return replies;
  const counts = await exchange.publish(notes.map(({ message }) => message));
  const told = [...replies];
  // A script has read its count already.
  notes.forEach(({ step }, index) => {
    if (step !== undefined) told[step] = integerReply(counts[index] ?? 0);
  });
  return told;
}

async function watch(
  conversation: Conversation,
  { command, request, database: { parts, batches } }: Exchange,
): Promise<void> {
  const known = new Set(conversation.watched.map(({ key }) => key.packed));
  const keys: ObjectKey[] = [];
  for (const name of keysOf(command, request)) {
    const key = keyOf(parts, name);
    if (known.has(key.packed)) continue;
    known.add(key.packed);
    keys.push(key);
  }
  if (known.size > parts.keyCountMax) {
    throw new LockstepError('TooLarge', `at most ${parts.keyCountMax} keys can be watched`);
  }
  const size = new AnswerSize(parts.answerBytesMax);
  const watched = [...conversation.watched, ...(await batches.watch(keys))];
  for (const { object } of watched) size.add(valueBytesOf(object));
  conversation.watch(watched);
}

function failWith(exchange: Exchange, caught: unknown): void {
  const error = asLockstepError(caught);
  exchange.fail(error, exchange.purpose === 'write' ? writeRefusalText(error) : refusalText(error));
}
