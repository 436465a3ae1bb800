/**
 * `session-guarantees` (INV20) over pipelines of Redis commands, key by key. One command surely precedes another on its
 * key if it stands before it in the same pipeline, or was answered before the other's pipeline was sent. Then:
 *
 * - each reply has the form of its own command, and a value that it shows was written to that key by a command that did
 *   not certainly fail;
 * - no command is shown a value, or none, that an acknowledged change surely replaced: so a read behind a write of its
 *   own pipeline reflects it, and no acknowledged write is lost;
 * - no two acknowledged commands replace one value that both were shown (INCR, GETSET, GETDEL, SET GET), unless a plain
 *   SET that had not ended brought it: it may have to write the value again, after the first of them;
 * - once two values are acknowledged, no client is shown the one after another client was shown the other.
 *
 * A change of unknown outcome may have happened at any time after it was sent, or never. Skipped: errors, and values of
 * changes of unknown outcome.
 */
import type { LevelReach } from '../../evidence/level-reach.ts';
import { mustSee } from '../../evidence/level-reach.ts';
import type { PipelineCommand } from '../../evidence/redis-pipelines.ts';
import { pipelineCommands, valueSpacing } from '../../evidence/redis-pipelines.ts';
import { indefiniteErrors } from '../../evidence/redis.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** One command on one of its keys. */
interface Step {
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

/** Checks every pipeline of the records. */
export function checkRedisPipelines(records: readonly RedisRecord[], reach: LevelReach): CheckReport {
  const tally = new Tally('session-guarantees');
  const keys = new Map<string, Step[]>();
  for (const record of records) {
    if (record.kind !== 'pipeline') continue;
    for (const step of stepsOf(record, tally)) {
      const known = keys.get(step.key);
      if (known === undefined) keys.set(step.key, [step]);
      else known.push(step);
    }
  }
  for (const steps of keys.values()) {
    const sees = mustSeeEachOther(steps, reach);
    checkShown(steps, sees, tally);
    checkReplacedOnce(steps, tally);
    if (sees) checkSettled(steps, tally);
  }
  return tally.report();
}

/** Whether the configured levels make every step see those that were acknowledged before it. */
function mustSeeEachOther(steps: readonly Step[], reach: LevelReach): boolean {
  const [first] = steps;
  return first === undefined || steps.every(({ record }) => mustSee(reach, first.record, record));
}

/** The steps of one pipeline, with what their replies say. */
function stepsOf(record: RedisRecord, tally: Tally): readonly Step[] {
  const commands = pipelineCommands(record);
  return commands.flatMap((command, index): readonly Step[] => {
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
function lost({ outcome }: RedisRecord): Step['outcome'] {
  return outcome === 'fail' ? 'fail' : 'unknown';
}

function outcomeOf(reply: string): Step['outcome'] {
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

function shownBy({ kind }: PipelineCommand, reply: string): Step['shown'] {
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
function leavesOf({ kind, values }: PipelineCommand, at: number, reply: string | undefined): Step['leaves'] {
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

/** `one` certainly took effect, if at all, before `other` did. Both are on the same key. */
function precedes(one: Step, other: Step): boolean {
  if (one.record === other.record) return one.index < other.index;
  return one.doneUs < other.record.invokedUs;
}

/** The number that the value's write gave it; 0 for increments of a missing key. */
function originOf(shown: number): number {
  return shown - (shown % valueSpacing);
}

/**
 * No step is shown what no command wrote, or, if the levels make steps see each other (`sees`), what an acknowledged
 * change surely replaced.
 */
function checkShown(steps: readonly Step[], sees: boolean, tally: Tally): void {
  const changes = steps.filter(({ outcome, leaves }) => outcome === 'ok' && leaves !== undefined);
  const writers = new Map<number, Step>();
  for (const step of steps) if (typeof step.leaves === 'number') writers.set(step.leaves, step);
  for (const read of steps) {
    if (read.shown === undefined) continue;
    const origin = read.shown === 'nil' ? 0 : originOf(read.shown);
    if (read.shown === 'nil' || origin === 0) {
      if (sees) checkAbsence(read, steps, changes, tally);
      else tally.skip();
      continue;
    }
    const written = writers.get(origin);
    tally.compare(written !== undefined && written.outcome !== 'fail', read.doneUs, () => {
      const by = written === undefined ? 'no command wrote it' : `it was refused: ${describe(written)}`;
      return `${describe(read)}: ${by}`;
    });
    const writer = writers.get(read.shown);
    // Without one, an increment of unknown outcome left it.
    if (writer === undefined || writer.outcome !== 'ok' || !sees) {
      tally.skip();
      continue;
    }
    const later = changes.find((change) => precedes(writer, change) && precedes(change, read));
    tally.compare(later === undefined, read.doneUs, () => {
      return `${describe(read)}: ${later === undefined ? '' : describe(later)} had replaced that of ${describe(writer)}`;
    });
  }
}

/** A step is shown nothing, or a number that begins with nothing: no acknowledged value is surely there. */
function checkAbsence(read: Step, steps: readonly Step[], changes: readonly Step[], tally: Tally): void {
  const deletions = steps.filter(({ leaves, outcome }) => leaves === 'nil' && outcome !== 'fail');
  const values = changes.filter(({ leaves }) => typeof leaves === 'number' && leaves >= valueSpacing);
  const kept = values.find((change) => {
    if (!precedes(change, read)) return false;
    return !deletions.some((deletion) => !precedes(deletion, change) && !precedes(read, deletion));
  });
  tally.compare(kept === undefined, read.doneUs, () => {
    return `${describe(read)}: no command deleted that of ${kept === undefined ? '' : describe(kept)}`;
  });
}

/** The writer is a plain SET that had not surely ended when `other` was shown its value. */
function mayWriteTwice(writer: Step | undefined, other: Step): boolean {
  if (writer === undefined || precedes(writer, other)) return false;
  return writer.kind === 'set' || writer.kind === 'set-ex';
}

/** No two acknowledged steps replaced the same value. */
function checkReplacedOnce(steps: readonly Step[], tally: Tally): void {
  const replacers = new Map<number, Step>();
  const writers = new Map<number, Step>();
  for (const step of steps) if (typeof step.leaves === 'number') writers.set(step.leaves, step);
  for (const step of steps) {
    const { shown, outcome, leaves } = step;
    if (outcome !== 'ok' || leaves === undefined || typeof shown !== 'number') continue;
    if (originOf(shown) === 0) continue;
    const other = replacers.get(shown);
    if (other !== undefined && mayWriteTwice(writers.get(shown), other)) {
      tally.skip();
      continue;
    }
    tally.compare(other === undefined, step.doneUs, () => {
      return `two commands replaced ${shown}: ${other === undefined ? '' : describe(other)}, ${describe(step)}`;
    });
    replacers.set(shown, step);
  }
}

/** Of two acknowledged values, the one that a reader was shown is the newer for every later reader. */
function checkSettled(steps: readonly Step[], tally: Tally): void {
  const writers = new Map<number, Step>();
  for (const step of steps) {
    if (typeof step.leaves === 'number' && step.outcome === 'ok') writers.set(step.leaves, step);
  }
  const reads = steps.flatMap((read) => {
    const writer = typeof read.shown === 'number' ? writers.get(read.shown) : undefined;
    return writer === undefined || originOf(Number(read.shown)) === 0 ? [] : [{ read, writer }];
  });
  for (const { read, writer } of reads) {
    const before = reads.find((earlier) => {
      if (earlier.writer === writer || !precedes(earlier.read, read)) return false;
      if (writer.doneUs >= earlier.read.record.invokedUs) return false;
      return earlier.writer.doneUs < read.record.invokedUs;
    });
    tally.compare(before === undefined, read.doneUs, () => {
      return `${describe(read)}: the newer value was shown before: ${before === undefined ? '' : describe(before.read)}`;
    });
  }
}

function describe({ record, index, kind, key, outcome, shown, leaves }: Step): string {
  const saw = shown === undefined ? '' : ` saw ${shown}`;
  const left = leaves === undefined ? '' : ` left ${leaves}`;
  return `#${record.id}.${index} ${record.client} ${kind} ${key} at ${record.node}: ${outcome}${saw}${left}`;
}
