/**
 * Commands on values, as pure functions over a working set.
 *
 * Source: the Redis command reference.
 */
import { bufferOf } from '../../base/ids.ts';
import { refuseAnswerBeyond } from './answer-size.ts';
import type { Entry } from './entries.ts';
import type { ExpiryUnit } from './expiry-options.ts';
import { expiryUnitOf, futureInstantOf } from './expiry-options.ts';
import { addFloats, inRange, mustReadCount, mustReadInteger, readInteger } from './numbers.ts';
import { Refusal, texts, wrongArity } from './refusals.ts';
import type { RespVersion } from './replies.ts';
import { arrayReply, bulkReply, integerReply, nilReply, okReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { Notes } from './messages/notes.ts';
import type { WorkingSet } from './working-set.ts';

/** A script with its arguments. */
export interface ScriptRequest {
  /** The script's text, or its hash. */
  readonly script: Buffer;
  readonly isHash: boolean;
  /** Commands that write are refused. */
  readonly isReadOnly: boolean;
  readonly keys: readonly Buffer[];
  readonly arguments: readonly Buffer[];
}

/** The scripts of a node; `script/scripts.ts` implements it. */
export interface ScriptRunner {
  /** Runs a script to its reply. Throws `Refusal`, with nothing changed, or `MissingKeys`. */
  run(request: ScriptRequest, keys: WorkingSet, context: CommandContext): Buffer;
  /** Adds a script to the cache and returns its hash. Throws `Refusal` if it does not compile. */
  load(text: Buffer): string;
  has(hash: string): boolean;
  flush(): void;
}

/** What a command knows in addition to its arguments. */
export interface CommandContext {
  /** The node's wall clock, milliseconds since the epoch. */
  readonly nowMs: number;
  readonly version: RespVersion;
  /** The most bytes of a value. */
  readonly valueBytesMax: number;
  /** The most bytes of an answer with several values. */
  readonly answerBytesMax: number;
  readonly scripts: ScriptRunner;
  /** Messages to publish once the step has succeeded. Undefined for commands on one key, which publish none. */
  readonly notes?: Notes;
}

/** Applies the command to the set and returns the reply. Throws `Refusal`; the set is unchanged then. */
export type Apply = (set: WorkingSet, request: Request, context: CommandContext) => Buffer;

const noBytes = Buffer.alloc(0);

/** The argument at `index`; empty if it is missing. 0 is the command's name. */
export function argument(request: Request, index: number): Buffer {
  return request[index] ?? noBytes;
}

function fresh(value: Uint8Array, expiresAtMs = 0): Entry {
  return { value, expiresAtMs, like: undefined };
}

/** A new value that keeps the expiry and metadata of the old one. */
export function renewed(old: Entry | undefined, value: Uint8Array): Entry {
  return { value, expiresAtMs: old?.expiresAtMs ?? 0, like: old?.like };
}

function valueReply(entry: Entry | undefined, version: RespVersion): Buffer {
  return entry === undefined ? nilReply(version) : bulkReply(entry.value);
}

/** GET: the value, or nil. */
export const get: Apply = (set, request, { version }) => valueReply(set.get(argument(request, 1)), version);

/** The options of SET. */
export interface SetOptions {
  readonly unit: ExpiryUnit | undefined;
  readonly time: Buffer | undefined;
  readonly only: 'NX' | 'XX' | undefined;
  readonly get: boolean;
  readonly keepTtl: boolean;
}

const plainSet: SetOptions = {
  unit: undefined,
  time: undefined,
  only: undefined,
  get: false,
  keepTtl: false,
};

/** Parses SET's options. Throws `Refusal`. */
export function setOptions(request: Request): SetOptions {
  if (request.length === 3) return plainSet;
  let { unit, time, only, get: wantsOld, keepTtl } = plainSet;
  for (let at = 3; at < request.length; at++) {
    const word = argument(request, at).toString('latin1').toUpperCase();
    const named = expiryUnitOf(word);
    if (named !== undefined && unit === undefined && !keepTtl && at + 1 < request.length) {
      unit = named;
      time = argument(request, at + 1);
      at += 1;
    } else if (word === 'KEEPTTL' && unit === undefined) keepTtl = true;
    else if (word === 'GET') wantsOld = true;
    else if ((word === 'NX' || word === 'XX') && (only === undefined || only === word)) only = word;
    else throw new Refusal(texts.syntax);
  }
  return { unit, time, only, get: wantsOld, keepTtl };
}

/** Whether the SET does not depend on the present value, and either leaves a value or is refused. */
export function isBlindSet(request: Request): boolean {
  if (request.length === 3) return true;
  if (request.length !== 5) return false;
  const word = argument(request, 3).toString('latin1').toUpperCase();
  return word === 'EX' || word === 'PX';
}

/** SET with all its options. */
export const set: Apply = (keys, request, { nowMs, version }) => {
  const key = argument(request, 1);
  const options = setOptions(request);
  const { unit, time } = options;
  const expiresAtMs = unit === undefined ? 0 : futureInstantOf(unit, time, nowMs, 'set');
  const old = options.only !== undefined || options.get || options.keepTtl ? keys.get(key) : undefined;
  const refused =
    (options.only === 'NX' && old !== undefined) || (options.only === 'XX' && old === undefined);
  if (!refused) {
    const kept = options.keepTtl ? (old?.expiresAtMs ?? 0) : expiresAtMs;
    store(keys, key, fresh(argument(request, 2), kept), nowMs);
  }
  if (options.get) return valueReply(old, version);
  return refused ? nilReply(version) : okReply;
};

/** Stores an entry; one that has already expired deletes the key. */
function store(keys: WorkingSet, key: Buffer, entry: Entry, nowMs: number): void {
  if (entry.expiresAtMs !== 0 && entry.expiresAtMs <= nowMs) keys.delete(key);
  else keys.set(key, entry);
}

/** SETNX: 1 if the key was absent and is now set. */
export const setnx: Apply = (keys, request) => {
  const key = argument(request, 1);
  if (keys.get(key) !== undefined) return integerReply(0);
  keys.set(key, fresh(argument(request, 2)));
  return integerReply(1);
};

function setWithExpiry(unit: 'EX' | 'PX', name: string): Apply {
  return (keys, request, { nowMs }) => {
    const expiresAtMs = futureInstantOf(unit, argument(request, 2), nowMs, name);
    keys.set(argument(request, 1), fresh(argument(request, 3), expiresAtMs));
    return okReply;
  };
}

/** SETEX: expires in seconds. */
export const setex = setWithExpiry('EX', 'setex');
/** PSETEX: expires in milliseconds. */
export const psetex = setWithExpiry('PX', 'psetex');

/** GETSET: sets the value and returns the old one. */
export const getset: Apply = (keys, request, { version }) => {
  const key = argument(request, 1);
  const reply = valueReply(keys.get(key), version);
  keys.set(key, fresh(argument(request, 2)));
  return reply;
};

/** GETDEL: deletes the key and returns its value. */
export const getdel: Apply = (keys, request, { version }) => {
  const key = argument(request, 1);
  const reply = valueReply(keys.get(key), version);
  keys.delete(key);
  return reply;
};

/** GETEX: returns the value and changes its expiry. */
export const getex: Apply = (keys, request, { nowMs, version }) => {
  const key = argument(request, 1);
  const word = argument(request, 2).toString('latin1').toUpperCase();
  const unit = expiryUnitOf(word);
  const persists = word === 'PERSIST' && request.length === 3;
  if (request.length !== 2 && !persists && (unit === undefined || request.length !== 4)) {
    throw new Refusal(texts.syntax);
  }
  const entry = keys.get(key);
  if (entry === undefined) return nilReply(version);
  const expiresAtMs = unit === undefined ? 0 : futureInstantOf(unit, argument(request, 3), nowMs, 'getex');
  if (unit !== undefined) store(keys, key, { ...entry, expiresAtMs }, nowMs);
  else if (persists && entry.expiresAtMs !== 0) keys.set(key, { ...entry, expiresAtMs: 0 });
  return bulkReply(entry.value);
};

/** APPEND: the new length. */
export const append: Apply = (keys, request, { valueBytesMax }) => {
  const key = argument(request, 1);
  const old = keys.get(key);
  const value = old === undefined ? argument(request, 2) : Buffer.concat([old.value, argument(request, 2)]);
  if (value.length > valueBytesMax) throw new Refusal(texts.tooLong);
  keys.set(key, renewed(old, value));
  return integerReply(value.length);
};

/** STRLEN: the value's bytes; 0 if the key is absent. */
export const strlen: Apply = (keys, request) =>
  integerReply(keys.get(argument(request, 1))?.value.length ?? 0);

/** GETRANGE and SUBSTR: bytes from start to end, both included; negative offsets count from the end. */
export const getrange: Apply = (keys, request) => {
  const start = mustReadCount(request[2]);
  const end = mustReadCount(request[3]);
  const value = keys.get(argument(request, 1))?.value ?? noBytes;
  if (start < 0 && end < 0 && start > end) return bulkReply(noBytes);
  const from = Math.max(0, start < 0 ? value.length + start : start);
  const to = Math.min(value.length - 1, Math.max(0, end < 0 ? value.length + end : end));
  return bulkReply(from > to ? noBytes : value.subarray(from, to + 1));
};

/** SETRANGE: overwrites from an offset, padding with zeros; the new length. */
export const setrange: Apply = (keys, request, { valueBytesMax }) => {
  const key = argument(request, 1);
  const offset = mustReadCount(request[2]);
  if (offset < 0) throw new Refusal(texts.offset);
  const part = argument(request, 3);
  const old = keys.get(key);
  const length = old?.value.length ?? 0;
  if (part.length === 0) return integerReply(length);
  if (offset + part.length > valueBytesMax) throw new Refusal(texts.tooLong);
  const value = Buffer.alloc(Math.max(length, offset + part.length));
  if (old !== undefined) value.set(old.value);
  value.set(part, offset);
  keys.set(key, renewed(old, value));
  return integerReply(value.length);
};

/** MGET: a value or nil for each key. Throws `Refusal` if they exceed `answerBytesMax`. */
export const mget: Apply = (keys, request, { version, answerBytesMax }) => {
  const entries = request.slice(1).map((key) => keys.get(key));
  let bytes = 0;
  for (const entry of entries) bytes += entry?.value.length ?? 0;
  refuseAnswerBeyond(answerBytesMax, bytes);
  return arrayReply(entries.map((entry) => valueReply(entry, version)));
};

/** MSET: sets all pairs. */
export const mset: Apply = (keys, request) => {
  setAll(keys, request, 'mset');
  return okReply;
};

/** MSETNX: sets all pairs if none of the keys exists. */
export const msetnx: Apply = (keys, request) => {
  if (request.length % 2 === 0) throw wrongArity('msetnx');
  for (let at = 1; at < request.length; at += 2) {
    if (keys.get(argument(request, at)) !== undefined) return integerReply(0);
  }
  setAll(keys, request, 'msetnx');
  return integerReply(1);
};

function setAll(keys: WorkingSet, request: Request, name: string): void {
  if (request.length % 2 === 0) throw wrongArity(name);
  for (let at = 1; at < request.length; at += 2) {
    keys.set(argument(request, at), fresh(argument(request, at + 1)));
  }
}

function add(keys: WorkingSet, key: Buffer, increment: bigint): Buffer {
  const old = keys.get(key);
  const before = old === undefined ? 0n : readInteger(old.value);
  if (before === undefined) throw new Refusal(texts.notInteger);
  const sum = before + increment;
  if (!inRange(sum)) throw new Refusal(texts.overflow);
  keys.set(key, renewed(old, Buffer.from(String(sum))));
  return integerReply(sum);
}

/** INCR: adds 1. */
export const incr: Apply = (keys, request) => add(keys, argument(request, 1), 1n);
/** DECR: subtracts 1. */
export const decr: Apply = (keys, request) => add(keys, argument(request, 1), -1n);
/** INCRBY: adds a signed 64-bit integer. */
export const incrby: Apply = (keys, request) => add(keys, argument(request, 1), mustReadInteger(request[2]));

/** DECRBY: subtracts a signed 64-bit integer. */
export const decrby: Apply = (keys, request) => {
  const decrement = mustReadInteger(request[2]);
  if (!inRange(-decrement)) throw new Refusal(texts.decrementOverflow);
  return add(keys, argument(request, 1), -decrement);
};

/** INCRBYFLOAT: adds decimal numbers exactly. */
export const incrbyfloat: Apply = (keys, request) => {
  const key = argument(request, 1);
  const old = keys.get(key);
  const sum = Buffer.from(addFloats(bufferOf(old?.value ?? Buffer.from('0')), argument(request, 2)));
  keys.set(key, renewed(old, sum));
  return bulkReply(sum);
};
