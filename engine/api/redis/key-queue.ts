/**
 * Queues commands that write one key, and reads that a client sent behind them. At each node the writes of a key take
 * turns. One turn is under way, and the commands that arrive meanwhile form the next one. So a counter that many clients
 * increment costs two syncs for all that wait, not one each. A turn applies its commands in the order of arrival, and
 * ends in one step:
 *
 * - If the turn begins with a plain SET, and holds only plain SETs and reads, then nothing depends on the present value.
 *   The turn writes the last value as a put that replaces what a majority holds. If another write may count as newer,
 *   the turn reads the key and puts on top of that. If the value that it has read may expire, the second way applies.
 *   Every plain SET takes the second way until a rolling upgrade from version 3 of peer messages is finalized.
 * - Otherwise the turn reads the key, applies the commands, and commits the result at the key's primary, on condition
 *   that the key is unchanged. If another client was faster, the turn reads and applies again.
 *
 * So commands of a turn follow each other with nothing in between. All writes of a turn succeed or fail together, except
 * for their own refusals. Reads of a failed turn are then done without the writes, except for one case: while it is
 * unknown whether the turn took effect, a read that stands before one of its writes fails with them, since it might find
 * what that later command wrote. A turn ends early once its replies exceed what one answer may hold.
 */
import type { LockstepError } from '../../base/errors.ts';
import { asLockstepError } from '../../base/errors.ts';
import { Deferred } from '../../base/deferred.ts';
import { TransientMap } from '../../base/transient-map.ts';
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import type { Content } from '../../replica/object/content.ts';
import type { VersionVector } from '../../replica/object/dots.ts';
import { emptyVector, mergeVectors } from '../../replica/object/dots.ts';
import { mayExpire } from '../../replica/object/expiry.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { OpenSpan } from '../../base/request-trace.ts';
import type { JoinedReplacement } from '../../replication/requests.ts';
import { NotReplaced } from '../../replication/requests.ts';
import type { Operation } from '../../transactions/formats/outcomes.ts';
import { checkContent, isWithin } from '../content-limits.ts';
import { Attempts } from './attempts.ts';
import type { Ending } from './changes.ts';
import { changeOf, endingOf } from './changes.ts';
import type { Command } from './commands.ts';
import { contentOf, entryOf } from './entries.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import { editNeed } from './listener-dependencies.ts';
import { leavesOpen, Refusal, refusalText, texts, unread, unreplaced, writeRefusalText } from './refusals.ts';
import type { RespVersion } from './replies.ts';
import { errorReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { EndedCommand, Settlement } from './settlement.ts';
import type { CommandContext } from './value-commands.ts';
import { isBlindSet } from './value-commands.ts';
import { WorkingKey } from './working-set.ts';

/** A command that waits for its turn. */
export interface Edit {
  readonly command: Command;
  readonly request: Request;
  readonly version: RespVersion;
  /** Where to note how long the turn takes. */
  readonly times?: RequestTimes | undefined;
  /** Called once, with the reply. */
  settle(reply: Buffer): void;
  /** Called once instead of `settle`: the turn failed, or its outcome is unknown. */
  fail(error: LockstepError | undefined, text: string): void;
}

interface Turn {
  readonly key: ObjectKey;
  waiting: Edit[];
}

/** What a turn of one plain SET reports to. */
interface LoneTurns {
  readonly settlement: Settlement;
  readonly nowUs: () => number;
  /** The SET was written and has its reply. */
  ended(turn: Turn): void;
  /** The SET was not written, or not known to have replaced all. */
  retry(turn: Turn, edit: Edit, attempted: Attempted): void;
}

/** A turn of one plain SET, as most are. */
class LoneTurn implements JoinedReplacement, EndedCommand {
  readonly key: ObjectKey;
  readonly content: Content;
  readonly timeoutMs: number;
  readonly partOf: OpenSpan | undefined;
  readonly #turn: Turn;
  readonly #edit: Edit;
  readonly #reply: Buffer;
  readonly #turns: LoneTurns;

  constructor(turn: Turn, edit: Edit, content: Content, reply: Buffer, timeoutMs: number, turns: LoneTurns) {
    this.key = turn.key;
    this.content = content;
    this.timeoutMs = timeoutMs;
    this.partOf = edit.times?.span;
    this.#turn = turn;
    this.#edit = edit;
    this.#reply = reply;
    this.#turns = turns;
  }

  replaced(error: unknown): void {
    if (error === undefined) {
      this.#edit.times?.concluded(this.#turns.nowUs());
      this.#turns.settlement.add(this);
    } else
      this.#turns.retry(this.#turn, this.#edit, { replies: [this.#reply], content: this.content, error });
  }

  conclude(): void {
    this.#edit.settle(this.#reply);
    this.#turns.ended(this.#turn);
  }
}

/** A plain write that was tried without a read, and why that is not all. */
interface Attempted {
  readonly replies: readonly Buffer[];
  readonly content: Content;
  readonly error: unknown;
}

const noEdits: Edit[] = [];
const soon = Promise.resolve();

/** The queues of all keys at this node. */
export class KeyQueue {
  readonly #parts: RedisDependencies;
  readonly #turns = new TransientMap<PackedKey, Turn>();
  readonly #loneTurns: LoneTurns;
  /** Turns of one plain SET that were begun in this turn of the event loop: they are written together. */
  #lone: LoneTurn[] = [];

  constructor(parts: RedisDependencies, settlement: Settlement) {
    this.#parts = parts;
    const { io } = parts;
    this.#loneTurns = {
      settlement,
      nowUs: () => io.clock.nowUs(),
      ended: (turn) => {
        if (turn.waiting.length === 0) this.#turns.delete(turn.key.packed);
        else io.spawn('redis.turn', () => this.#run(turn));
      },
      retry: (turn, edit, attempted) => io.spawn('redis.turn', () => this.#retry(turn, [edit], attempted)),
    };
  }

  /** The number of keys with turns under way. */
  get size(): number {
    return this.#turns.size;
  }

  /** Adds a command to the key's next turn, and starts one if none is under way. */
  submit(key: ObjectKey, edit: Edit): void {
    const turn = this.#turns.get(key.packed);
    if (turn !== undefined) {
      if (turn.waiting === noEdits) turn.waiting = [edit];
      else turn.waiting.push(edit);
      return;
    }
    const begun: Turn = { key, waiting: noEdits };
    this.#turns.insert(key.packed, begun);
    if (isBlindWrite(edit) && this.#parts.mayReplace() && this.#beginAlone(begun, edit)) return;
    begun.waiting = [edit];
    this.#parts.io.spawn('redis.turn', () => this.#run(begun));
  }

  /**
   * Begins a turn of one plain SET, as most are, without a task of its own. False if it is not begun: then it is no SET
   * that leaves a value.
   */
  #beginAlone(turn: Turn, edit: Edit): boolean {
    const working = new WorkingKey(undefined);
    const edits = [edit];
    const [reply] = this.#apply(edits, working);
    if (working.entry === undefined || reply === undefined) return false;
    const { io, limits, timeoutMs } = this.#parts;
    const content = contentOf(working.entry);
    if (!isWithin(content, limits)) return false;
    this.#begun(edits);
    const lone = new LoneTurn(turn, edit, content, reply, timeoutMs, this.#loneTurns);
    if (this.#lone.push(lone) === 1) io.spawn('redis.write', () => this.#writeLone());
    return true;
  }

  /** Writes the SETs that were begun in this turn of the event loop. */
  async #writeLone(): Promise<void> {
    await soon;
    const lone = this.#lone;
    this.#lone = [];
    this.#parts.dispatcher.replaceMany(lone);
  }

  async #retry(turn: Turn, edits: readonly Edit[], attempted: Attempted): Promise<void> {
    await soon;
    await this.#take(turn.key, edits, attempted);
    await this.#run(turn);
  }

  #begun(edits: readonly Edit[]): void {
    const nowUs = this.#parts.io.clock.nowUs();
    for (const { times } of edits) {
      times?.dispatched(nowUs);
      times?.asked(nowUs);
    }
  }

  async #run(turn: Turn): Promise<void> {
    while (turn.waiting.length > 0) {
      const edits = turn.waiting;
      turn.waiting = noEdits;
      this.#begun(edits);
      const count = await this.#take(turn.key, edits, undefined);
      if (count < edits.length) turn.waiting = [...edits.slice(count), ...turn.waiting];
    }
    this.#turns.delete(turn.key.packed);
  }

  /**
   * Runs a turn. Resolves with the number of commands that it has answered, the first of `edits`. `attempted`: what has
   * been done of it.
   */
  async #take(key: ObjectKey, edits: readonly Edit[], attempted: Attempted | undefined): Promise<number> {
    if (edits.every(isRead)) return this.#look(key, edits);
    let failure: TurnFailure;
    let attempt = emptyVector;
    try {
      const isReplaced = attempted !== undefined || (isBlind(edits) && this.#parts.mayReplace());
      const written = isReplaced ? await this.#write(key, edits, attempted) : emptyVector;
      if (typeof written === 'number') return written;
      attempt = written;
      const result = await this.#edit(key, edits, attempt);
      if (typeof result === 'number') return result;
      failure = attempt.length === 0 ? result : turnFailure(unreplaced(result.text));
    } catch (caught) {
      const error = asLockstepError(caught);
      failure = turnFailure(attempt.length === 0 ? error : unreplaced(error.message, error));
    }
    this.#conclude(edits);
    const lastInDoubt = leavesOpen(failure.text) ? edits.findLastIndex((edit) => !isRead(edit)) : -1;
    let reads = edits.filter((edit, index) => isRead(edit) && index > lastInDoubt);
    for (const edit of edits) if (!reads.includes(edit)) edit.fail(failure.error, failure.text);
    while (reads.length > 0) reads = reads.slice(await this.#look(key, reads));
    return edits.length;
  }

  #settle(edits: readonly Edit[], replies: readonly Buffer[]): number {
    this.#conclude(edits);
    replies.forEach((reply, index) => edits[index]?.settle(reply));
    return replies.length;
  }

  #conclude(edits: readonly Edit[]): void {
    const nowUs = this.#parts.io.clock.nowUs();
    for (const { times } of edits) times?.concluded(nowUs);
  }

  /** Runs a turn of reads alone. Resolves with the number of commands that it has answered. */
  async #look(key: ObjectKey, reads: readonly Edit[]): Promise<number> {
    const { dispatcher, io, timeoutMs } = this.#parts;
    try {
      const { object } = await dispatcher.get({
        key,
        need: editNeed(this.#parts),
        timeoutMs,
        partOf: spanOf(reads),
      });
      return this.#settle(reads, this.#apply(reads, new WorkingKey(entryOf(object, io.clock.wallMs()))));
    } catch (caught) {
      const error = asLockstepError(caught);
      this.#conclude(reads);
      for (const edit of reads) edit.fail(error, refusalText(error));
      return reads.length;
    }
  }

  /**
   * Runs a turn of commands that do not depend on the present value. If a value that may expire is there, the second
   * way must do it: then this resolves with the context of what was written meanwhile, which its write must include.
   */
  async #write(
    key: ObjectKey,
    edits: readonly Edit[],
    attempted: Attempted | undefined,
  ): Promise<number | VersionVector> {
    if (attempted !== undefined) return this.#writeAgain(key, edits, attempted);
    const working = new WorkingKey(undefined);
    const replies = this.#apply(edits, working);
    // The SET that the reads rely on was refused.
    if (replies[0]?.[0] === minus && edits.some(isRead)) return emptyVector;
    if (working.entry === undefined) return this.#settle(edits, replies);
    const content = contentOf(working.entry);
    checkContent(content, this.#parts.limits);
    const error = await this.#replace(key, content, spanOf(edits));
    if (error === undefined) return this.#settle(edits, replies);
    return this.#writeAgain(key, edits, { replies, content, error });
  }

  async #writeAgain(
    key: ObjectKey,
    edits: readonly Edit[],
    { replies, content, error }: Attempted,
  ): Promise<number | VersionVector> {
    if (!(error instanceof NotReplaced)) throw error;
    const kept = await this.#putOnTop(key, content, error.attempt, spanOf(edits));
    return kept ?? this.#settle(edits, replies);
  }

  /** Replaces what the key holds. Resolves with undefined, or why that was not done. */
  #replace(key: ObjectKey, content: Content, partOf: OpenSpan | undefined): Promise<unknown> {
    const { dispatcher, timeoutMs } = this.#parts;
    const ended = new Deferred<unknown>();
    dispatcher.replace({ key, content, timeoutMs, partOf }, (error) => ended.resolve(error));
    return ended.promise;
  }

  /**
   * Puts a value on top of what the key holds and of `attempt`. Clocks differ: a write must include the context of
   * acknowledged writes, or it could count as older than they. Undefined if that was done. A value that may expire is
   * kept; then this resolves with `attempt`.
   */
  async #putOnTop(
    key: ObjectKey,
    content: Content,
    attempt: VersionVector,
    partOf: OpenSpan | undefined,
  ): Promise<VersionVector | undefined> {
    const { dispatcher, timeoutMs } = this.#parts;
    try {
      const seen = await this.#read(key, timeoutMs, partOf);
      if (seen !== undefined && mayExpire(seen)) return attempt;
      const context = mergeVectors(seen?.context ?? emptyVector, attempt);
      await dispatcher.put({ key, need: 'default', context, content, timeoutMs, partOf });
      return undefined;
    } catch (caught) {
      const error = asLockstepError(caught);
      throw attempt.length === 0 ? error : unreplaced(error.message, error);
    }
  }

  /** `attempt`: the context of what this turn has written already. */
  async #edit(key: ObjectKey, edits: readonly Edit[], attempt: VersionVector): Promise<number | TurnFailure> {
    const attempts = new Attempts(this.#parts.io, this.#parts.timeoutMs);
    const span = spanOf(edits);
    for (;;) {
      const object = await this.#read(key, attempts.leftMs, span);
      const working = new WorkingKey(entryOf(object, this.#parts.io.clock.wallMs()));
      const replies = this.#apply(edits, working);
      const change = working.changed ? this.#changeOf(key, object, working, attempt) : undefined;
      const ending = change === undefined ? done : await this.#commit(change, attempts.leftMs, span);
      if (ending.kind === 'done') return this.#settle(edits, replies);
      if (ending.kind === 'failed') return { error: undefined, text: ending.text };
      if (!(await attempts.again())) return { error: undefined, text: texts.tryAgain };
    }
  }

  #changeOf(
    key: ObjectKey,
    object: StoredObject | undefined,
    { entry }: WorkingKey,
    attempt: VersionVector,
  ): Operation | undefined {
    if (entry === undefined && object === undefined) return undefined;
    const change = changeOf(this.#parts, key, object, entry);
    if (attempt.length === 0) return change;
    return { ...change, context: mergeVectors(change.context ?? emptyVector, attempt) };
  }

  async #commit(change: Operation, timeoutMs: number, partOf: OpenSpan | undefined): Promise<Ending> {
    const outcome = await this.#parts.transactions.run({
      operations: [change],
      forceAbort: false,
      level: undefined,
      timeoutMs,
      clientId: undefined,
      partOf,
    });
    return endingOf(outcome);
  }

  /** Reads the key before a write. Rejects with a definite error: nothing has been sent for this write. */
  async #read(
    key: ObjectKey,
    timeoutMs: number,
    partOf: OpenSpan | undefined,
  ): Promise<StoredObject | undefined> {
    const need = editNeed(this.#parts);
    try {
      return (await this.#parts.dispatcher.get({ key, need, timeoutMs, partOf })).object;
    } catch (caught) {
      throw unread(asLockstepError(caught));
    }
  }

  /** The replies of the first commands: of all, or of as many as one answer may hold. */
  #apply(edits: readonly Edit[], working: WorkingKey): Buffer[] {
    const nowMs = this.#parts.io.clock.wallMs();
    const { limits, answerBytesMax, scripts } = this.#parts;
    const { valueBytesMax } = limits;
    const replies: Buffer[] = [];
    let bytes = 0;
    for (const { command, request, version } of edits) {
      const context = { nowMs, version, valueBytesMax, answerBytesMax, scripts };
      const reply = applyCommand(command, request, working, context);
      replies.push(reply);
      bytes += reply.length;
      if (bytes >= answerBytesMax) break;
    }
    return replies;
  }
}

/** Why a turn was not carried out, or may not have been. */
interface TurnFailure {
  readonly error: LockstepError | undefined;
  readonly text: string;
}

function turnFailure(error: LockstepError): TurnFailure {
  return { error, text: writeRefusalText(error) };
}

const done: Ending = { kind: 'done' };
/** The first byte of an error line. */
const minus = 0x2d;

/** Applies a command to the working set and returns its reply, or the reply of its refusal. */
export function applyCommand(
  { apply }: Command,
  request: Request,
  working: Parameters<NonNullable<Command['apply']>>[0],
  context: CommandContext,
): Buffer {
  try {
    if (apply === undefined) throw new Refusal(texts.syntax);
    return apply(working, request, context);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return errorReply(error.message);
  }
}

/** The span that a turn's spans are below: that of its first traced command; undefined if none is. */
function spanOf(edits: readonly Edit[]): OpenSpan | undefined {
  for (const { times } of edits) if (times?.span !== undefined) return times.span;
  return undefined;
}

function isRead({ command }: Edit): boolean {
  return command.kind === 'read';
}

function isBlind(edits: readonly Edit[]): boolean {
  const [first] = edits;
  return (
    first !== undefined && isBlindWrite(first) && edits.every((edit) => isRead(edit) || isBlindWrite(edit))
  );
}

function isBlindWrite({ command, request }: Edit): boolean {
  if (command.name === 'setex' || command.name === 'psetex') return true;
  return command.name === 'set' && isBlindSet(request);
}
