/**
 * Checks a transaction by the rules that all listeners share, whatever their encodings: limits, distinct keys, valid
 * preconditions. Every refusal names the operation by its index and the rule that it breaks, in the same text for every
 * protocol. A refused batch has no effect.
 */
import { LockstepError } from '../base/errors.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';
import { byteStringFrom, textOf } from '../base/ids.ts';
import type { ObjectKey } from '../base/object-key.ts';
import { KeyReader } from '../base/key-reader.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { consistencyLevels } from '../replication/requests.ts';
import type { Content } from '../replica/object/content.ts';
import type { VersionVector } from '../replica/object/dots.ts';
import type {
  AbortReason,
  Knowledge,
  Operation,
  OperatorDecision,
  TransactionOutcome,
  TransactionRequest,
} from '../transactions/formats/outcomes.ts';
import { operatorDecisions } from '../transactions/formats/outcomes.ts';
import type { Xid } from '../transactions/formats/xid.ts';
import { parseXid } from '../transactions/formats/xid.ts';
import type { ClientObserver, Failure } from './client-observer.ts';
import { observeError } from './client-observer.ts';
import type { ContentLimits } from './content-limits.ts';
import { checkContent } from './content-limits.ts';
import type { KnowsType } from './objects.ts';
import { parseContext, timeoutMsMax } from './objects.ts';

/** The largest transaction that a client may send, and the bucket types that it may name. */
export interface TransactionLimits {
  /** Operations of one transaction. */
  readonly operationCountMax: number;
  /** Bytes of values, names and metadata of all operations together. */
  readonly bytesMax: number;
  readonly content: ContentLimits;
  readonly knowsType: KnowsType;
}

/** A refused transaction: the index of the operation (undefined: the whole batch), and the rule that it breaks. */
export class BatchError extends LockstepError {
  /** The index of the refused operation; undefined: the whole batch. */
  readonly index: number | undefined;
  /** The name of the broken rule, as clients receive it. */
  readonly rule: string;

  constructor(code: ErrorCode, rule: string, detail: string, index?: number) {
    super(code, index === undefined ? detail : `operation ${index}: ${detail}`);
    this.rule = rule;
    this.index = index;
  }
}

const clientIdCharsMax = 128;
const loneSurrogate = /\p{Surrogate}/u;

/** The name of a bucket or a key as a listener decoded it. */
export type Name = ByteString | Uint8Array;

/** An operation as a listener decoded it. Only its form has been checked. */
export interface GivenOperation {
  /** Undefined: the default type. */
  readonly type: ByteString | undefined;
  readonly bucket: Name | undefined;
  readonly key: Name | undefined;
  readonly content: Content;
  readonly context: VersionVector | undefined;
  readonly ifMatch: VersionVector | undefined;
  readonly ifAbsent: boolean;
}

/** Checks the number of operations, 1 to `operationCountMax`, before the listener decodes any. Throws `BatchError`. */
export function checkCount(count: number, { operationCountMax }: TransactionLimits): void {
  if (count === 0) throw refused('empty', 'a transaction holds at least one operation');
  if (count > operationCountMax) {
    throw tooLarge('operation_count', `${count} operations; at most ${operationCountMax} are allowed`);
  }
}

/** The operation if it breaks no rule. Throws `BatchError`. */
export function checkOperation(given: GivenOperation, index: number, limits: TransactionLimits): Operation {
  const key = keyOf(given, index, limits.knowsType);
  const { content, context, ifMatch, ifAbsent } = given;
  try {
    checkContent(content, limits.content);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    throw tooLarge('content', error.message, index);
  }
  if (ifAbsent && ifMatch !== undefined)
    throw refused('precondition', 'if_match and if_absent exclude each other', index);
  return { key, content, context, ifMatch, ifAbsent };
}

/** Checks the rules over all operations: distinct keys and total bytes. Throws `BatchError`. */
export function checkTogether(operations: readonly Operation[], limits: TransactionLimits): void {
  checkDistinct(operations);
  checkBytes(operations, limits.bytesMax);
}

/** Decodes a context. Throws `BatchError` that names `field`. */
export function contextOf(bytes: Uint8Array, field: string, index: number): VersionVector {
  try {
    return parseContext(bytes, field);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    throw refused(field, error.message, index);
  }
}

/** The consistency level that a client sent; undefined if it sent none. Throws `BatchError` for another value. */
export function levelOf(given: unknown): TransactionRequest['level'] {
  if (given === undefined) return undefined;
  const level = consistencyLevels.find((one) => one === given);
  if (level !== undefined) return level;
  throw refused('consistency', `consistency is one of ${consistencyLevels.join(', ')}, not ${show(given)}`);
}

/**
 * The timeout that a client sent, in milliseconds, at most `timeoutMsMax`; undefined if it sent none. Throws
 * `BatchError` unless it is a whole number from 1.
 */
export function timeoutOf(given: unknown): number | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'number' && Number.isInteger(given) && given >= 1)
    return Math.min(given, timeoutMsMax);
  throw refused('timeout_ms', `timeout_ms is a whole number from 1, not ${show(given)}`);
}

/**
 * The idempotency key that a client sent; undefined if it sent none. Throws `BatchError` unless it is a text of 1 to
 * 128 characters that UTF-8 can hold: what it cannot hold would become another character, the same for several keys.
 */
export function clientIdOf(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const isText = typeof given === 'string' && !loneSurrogate.test(given);
  if (isText && given.length >= 1 && given.length <= clientIdCharsMax) return given;
  throw refused('id', `id is a text of 1 to ${clientIdCharsMax} characters`);
}

/**
 * The outcome as the sender of `request` receives it. A retry may be answered by a branch, which knows only its own
 * part. The operation count then comes from the request, which has all of them.
 */
export function asSent(outcome: TransactionOutcome, { operations }: TransactionRequest): TransactionOutcome {
  if (outcome.kind !== 'committed' || outcome.operationCount === operations.length) return outcome;
  return { ...outcome, operationCount: operations.length };
}

/** Parses the xid that a client asks about. Throws `BadRequest` if it is none. */
export function xidOf(text: string): Xid {
  const xid = parseXid(text);
  if (xid !== undefined) return xid;
  const hint =
    'names are those that transaction_id says; one sent under an id of your own is found by sending it again';
  throw new LockstepError('BadRequest', `${JSON.stringify(text)} is not a transaction id: ${hint}`);
}

/** What a client learns that is limited to some buckets: the detail of an abort may name a key that is out of its reach. */
export function withoutDetail(known: Knowledge): Knowledge {
  return known.kind === 'aborted' ? { ...known, detail: '' } : known;
}

/** The `NotFound` for a transaction that this node has no record of, with the possible reasons. */
export function noRecordOf(xid: Xid): LockstepError {
  const why =
    'it never began, was aborted, is older than what is remembered, or the primary of its keys alone knows of it, since its coordinator has been restarted: ask the other nodes too';
  return new LockstepError('NotFound', `this node finds no record of the transaction ${xid}: ${why}`);
}

/** The `NotFound` for a heuristic decision over a transaction that has no undecided branch here. */
export function noBranchOf(xid: Xid): LockstepError {
  return new LockstepError(
    'NotFound',
    `nothing on this node waits for a decision over the transaction ${xid}`,
  );
}

/** A `BadRequest` for breaking `rule`; `index` is the operation's, undefined for the whole batch. */
export function refused(rule: string, detail: string, index?: number): BatchError {
  return new BatchError('BadRequest', rule, detail, index);
}

/** A `TooLarge` for breaking `rule`; `index` is the operation's, undefined for the whole batch. */
export function tooLarge(rule: string, detail: string, index?: number): BatchError {
  return new BatchError('TooLarge', rule, detail, index);
}

/** A value that a client sent, as JSON cut to 60 characters for an error text. */
export function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** A reader's cache has no visible effect, so all listeners share one. */
const keys = new KeyReader();

function keyOf({ type, bucket, key }: GivenOperation, index: number, knowsType: KnowsType): ObjectKey {
  if (type !== undefined && type !== defaultType && !knowsType(type))
    throw refused('type', `unknown bucket type ${show(textOf(type))}`, index);
  if (bucket === undefined) throw refused('bucket', 'bucket is missing', index);
  if (key === undefined) throw refused('key', 'key is missing', index);
  try {
    if (typeof bucket === 'string' || typeof key === 'string')
      return objectKey(type ?? defaultType, stringOf(bucket), stringOf(key));
    return keys.read(type ?? defaultType, bucket, key);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    throw new BatchError(error.code, 'key', error.message, index);
  }
}

function stringOf(name: Name): ByteString {
  return typeof name === 'string' ? name : byteStringFrom(name);
}

/** Up to this many operations are compared pairwise, which is cheaper than building a map. */
const fewOperations = 8;

function checkDistinct(operations: readonly Operation[]): void {
  if (operations.length <= fewOperations) {
    for (let index = 1; index < operations.length; index++) {
      const packed = operations[index]?.key.packed;
      for (let earlier = 0; earlier < index; earlier++)
        if (operations[earlier]?.key.packed === packed) throw duplicate(earlier, index);
    }
    return;
  }
  const first = new Map<string, number>();
  operations.forEach(({ key }, index) => {
    const earlier = first.get(key.packed);
    if (earlier !== undefined) throw duplicate(earlier, index);
    first.set(key.packed, index);
  });
}

function duplicate(earlier: number, index: number): BatchError {
  return refused('duplicate_key', `its key is that of operation ${earlier} too`, index);
}

function checkBytes(operations: readonly Operation[], bytesMax: number): void {
  let bytes = 0;
  operations.forEach(({ key, content }, index) => {
    bytes += key.packed.length + content.value.length;
    for (const [name, value] of content.meta) bytes += name.length + value.length;
    for (const link of content.links) bytes += link.bucket.length + link.key.length + link.tag.length;
    if (bytes > bytesMax)
      throw tooLarge('bytes', `the transaction exceeds ${bytesMax} bytes with this operation`, index);
  });
}

/** The operator's heuristic decision. Throws `BadRequest` if the word is none. */
export function decisionOf(word: unknown): OperatorDecision {
  const known = operatorDecisions.find((one) => one === word);
  if (known !== undefined) return known;
  throw new LockstepError('BadRequest', `heuristic is one of ${operatorDecisions.join(', ')}`);
}

/**
 * How each abort reason is counted as a failure. Undefined: the client asked for the abort, or it learns the state of
 * an object.
 */
const failures: Readonly<Record<AbortReason, Failure | undefined>> = {
  force_abort: undefined,
  conflict: undefined,
  precondition_failed: undefined,
  prepare_failed: { code: 'Internal', definite: true },
  // Primaries were asked, and one of them cast no vote in time.
  prepare_timeout: { code: 'Timeout', definite: false },
  no_targets: { code: 'NoTargets', definite: true },
  disk_full: { code: 'StorageFailed', definite: true },
};

/** Counts a transaction's outcome with the observer. A transaction in doubt is not a failure yet. */
export function observeOutcome(
  observer: ClientObserver,
  outcome: TransactionOutcome,
  { level }: Pick<TransactionRequest, 'level'>,
): void {
  const failure = outcome.kind === 'aborted' ? failures[outcome.reason] : undefined;
  if (failure !== undefined) observeError(observer, failure, 'write', level);
}
