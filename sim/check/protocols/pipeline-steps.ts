/**
 * What each command of a pipeline did to each of its keys, as the client knows it from the replies. Values name their
 * writes (evidence/redis-pipelines.ts), so the steps of a key can be compared with each other, and with the disks.
 */
import type { PipelineCommand } from '../../evidence/redis-pipelines.ts';
import { pipelineCommands, valueSpacing } from '../../evidence/redis-pipelines.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis, indefiniteErrors } from '../../evidence/redis.ts';
import type { Tally } from '../report.ts';

/** One command on one of its keys. */
export interface PipelineStep {
  readonly record: RedisRecord;
  /** Its place in the pipeline. */
  readonly index: number;
  readonly kind: PipelineCommand['kind'];
  readonly key: string;
  readonly outcome: 'ok' | 'fail' | 'unknown';
  /** When its reply was there; the end of the operation if none came. */
  readonly doneUs: number;
  /** What it was shown: a value, `nil`, or nothing that says so. */
  readonly shown: number | 'nil' | undefined;
  /** What it leaves if it happens: a value, `nil`; undefined if it changes nothing, or it is not known to what. */
  readonly leaves: number | 'nil' | undefined;
}

/** The steps of all pipelines, by key; each reply is compared with the form of its command. */
export function stepsByKey(
  records: readonly RedisRecord[],
  tally: Tally,
): ReadonlyMap<string, readonly PipelineStep[]> {
  const keys = new Map<string, PipelineStep[]>();
  for (const record of records) {
    if (record.kind !== 'pipeline' && record.kind !== 'sets') continue;
    for (const step of stepsOf(record, tally)) {
      const known = keys.get(step.key);
      if (known === undefined) keys.set(step.key, [step]);
      else known.push(step);
    }
  }
  return keys;
}

/** The steps of one pipeline, with what their replies say. */
function stepsOf(record: RedisRecord, tally: Tally): readonly PipelineStep[] {
  const commands = pipelineCommands(record);
  return commands.flatMap((command, index): readonly PipelineStep[] => {
    const { reply, doneUs } = replyOf(record, commands, index);
    if (reply === undefined || reply.startsWith('-')) {
      if (command.kind !== 'multi' && command.kind !== 'exec') tally.skip();
      const outcome = reply === undefined ? lost(record) : outcomeOf(reply);
      return command.keys.map((key, at) => {
        const leaves = leavesOf(command, at, undefined);
        return { record, index, kind: command.kind, key, outcome, doneUs, shown: undefined, leaves };
      });
    }
    tally.compare(isOwn(command, reply), doneUs, () => {
      return `${command.words.join(' ')} was answered ${reply}: command ${index} of ${describeRedis(record)}`;
    });
    return command.keys.map((key, at) => {
      const part = command.kind === 'mget' ? (partsOf(reply)[at] ?? '') : reply;
      const shown = shownBy(command, part);
      const leaves = leavesOf(command, at, part);
      return { record, index, kind: command.kind, key, outcome: 'ok', doneUs, shown, leaves };
    });
  });
}

/** A pipeline that was never sent has not happened. */
function lost({ outcome }: RedisRecord): PipelineStep['outcome'] {
  return outcome === 'fail' ? 'fail' : 'unknown';
}

function outcomeOf(reply: string): PipelineStep['outcome'] {
  return indefiniteErrors.includes(reply.slice(1).split(' ')[0] ?? '') ? 'unknown' : 'fail';
}

/** The reply to a command; of one between MULTI and EXEC, its part of EXEC's reply. */
function replyOf(
  { replies, repliedUs = [], completedUs }: RedisRecord,
  commands: readonly PipelineCommand[],
  index: number,
): { readonly reply: string | undefined; readonly doneUs: number } {
  if (commands[index]?.queued !== true) {
    return { reply: replies[index], doneUs: repliedUs[index] ?? completedUs };
  }
  const exec = commands.findIndex(({ kind }, at) => at > index && kind === 'exec');
  const first = commands.findLastIndex(({ kind }, at) => at < index && kind === 'multi') + 1;
  const reply = replies[exec];
  const doneUs = repliedUs[exec] ?? completedUs;
  if (reply === undefined || reply.startsWith('-')) return { reply, doneUs };
  return { reply: partsOf(reply)[index - first] ?? 'nothing at all', doneUs };
}

/** The parts of an array's text; none if it is no array. */
function partsOf(reply: string): readonly string[] {
  return reply.startsWith('*') ? (JSON.parse(reply.slice(1)) as readonly string[]) : [];
}

const value = /^=\d+$/;

function isOwn({ kind, keys }: PipelineCommand, reply: string): boolean {
  switch (kind) {
    case 'set':
    case 'set-ex':
    case 'set-keepttl':
    case 'mset':
    case 'multi':
      return reply === '+OK';
    case 'set-nx':
    case 'set-xx':
      return reply === '+OK' || reply === 'nil';
    case 'get':
    case 'set-get':
    case 'getset':
    case 'getdel':
      return reply === 'nil' || value.test(reply);
    case 'incr':
      return /^:\d+$/.test(reply);
    case 'del':
    case 'expire':
      return reply === ':0' || reply === ':1';
    case 'mget':
      return partsOf(reply).length === keys.length;
    case 'exec':
      return reply.startsWith('*');
  }
}

function shownBy({ kind }: PipelineCommand, reply: string): PipelineStep['shown'] {
  switch (kind) {
    case 'get':
    case 'mget':
    case 'set-get':
    case 'getset':
    case 'getdel':
      return reply === 'nil' ? 'nil' : Number(reply.slice(1));
    case 'incr':
      return reply === ':1' ? 'nil' : Number(reply.slice(1)) - 1;
    case 'set-nx':
      return reply === '+OK' ? 'nil' : undefined;
    case 'set-xx':
      return reply === 'nil' ? 'nil' : undefined;
    case 'del':
    case 'expire':
      return reply === ':0' ? 'nil' : undefined;
    default:
      return undefined;
  }
}

/** What the command leaves under its key number `at`. `reply` is undefined if it is not known. */
function leavesOf(
  { kind, values }: PipelineCommand,
  at: number,
  reply: string | undefined,
): PipelineStep['leaves'] {
  switch (kind) {
    case 'set-nx':
    case 'set-xx':
      return reply === 'nil' ? undefined : values[at];
    case 'del':
    case 'getdel':
      return reply === ':0' || reply === 'nil' ? undefined : 'nil';
    case 'incr':
      return reply === undefined ? undefined : Number(reply.slice(1));
    default:
      return values[at];
  }
}

/**
 * `one` certainly took effect, if at all, before `other` did. Both are on the same key. What is in doubt may still take
 * effect after its client has given up.
 */
export function precedes(one: PipelineStep, other: PipelineStep): boolean {
  if (one.record === other.record) return one.index < other.index;
  return one.outcome !== 'unknown' && one.doneUs < other.record.invokedUs;
}

/** The number that the value's write gave it; 0 for increments of a missing key. */
export function originOf(shown: number): number {
  return shown - (shown % valueSpacing);
}

/** One line for people. */
export function describeStep({ record, index, kind, key, outcome, shown, leaves }: PipelineStep): string {
  const saw = shown === undefined ? '' : ` saw ${shown}`;
  const left = leaves === undefined ? '' : ` left ${leaves}`;
  return `#${record.id}.${index} ${record.client} ${kind} ${key} at ${record.node}: ${outcome}${saw}${left}`;
}
