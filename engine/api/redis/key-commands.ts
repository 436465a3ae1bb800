/**
 * Commands on keys, whatever their values, as pure functions over a working set.
 *
 * Source: the Redis command reference.
 */
import type { ExpiryUnit } from './expiry-options.ts';
import { instantOf } from './expiry-options.ts';
import { readInteger } from './numbers.ts';
import { Refusal, texts, unknownSubcommand, wrongArity } from './refusals.ts';
import { arrayReply, integerReply, nilReply, okReply, simpleReply, textReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { Apply } from './value-commands.ts';
import { argument } from './value-commands.ts';

/** DEL and UNLINK: the number of keys deleted. */
export const del: Apply = (keys, request) => {
  let count = 0;
  for (let at = 1; at < request.length; at++) if (keys.delete(argument(request, at))) count += 1;
  return integerReply(count);
};

/** EXISTS: how many of the named keys exist; a key named twice counts twice. */
export const exists: Apply = (keys, request) => {
  let count = 0;
  for (let at = 1; at < request.length; at++) if (keys.get(argument(request, at)) !== undefined) count += 1;
  return integerReply(count);
};

/** TYPE: `string` or `none`. */
export const type: Apply = (keys, request) =>
  simpleReply(keys.get(argument(request, 1)) === undefined ? 'none' : 'string');

/** Conditions on the present expiry. */
interface ExpireOptions {
  readonly nx: boolean;
  readonly xx: boolean;
  readonly gt: boolean;
  readonly lt: boolean;
}

function expireOptions(request: Request): ExpireOptions {
  const given = request.slice(3).map((word) => word.toString('latin1').toUpperCase());
  const strange = given.findIndex((word) => !['NX', 'XX', 'GT', 'LT'].includes(word));
  if (strange >= 0)
    throw new Refusal(`ERR Unsupported option ${request[strange + 3]?.toString('utf8') ?? ''}`);
  const has = (word: string): boolean => given.includes(word);
  const options = { nx: has('NX'), xx: has('XX'), gt: has('GT'), lt: has('LT') };
  if (options.nx && (options.xx || options.gt || options.lt)) {
    throw new Refusal('ERR NX and XX, GT or LT options at the same time are not compatible');
  }
  if (options.gt && options.lt) {
    throw new Refusal('ERR GT and LT options at the same time are not compatible');
  }
  return options;
}

/** A key without an expiry counts as expiring last. */
function permits({ nx, xx, gt, lt }: ExpireOptions, presentMs: number, wantedMs: number): boolean {
  if (nx && presentMs !== 0) return false;
  if (xx && presentMs === 0) return false;
  if (gt && (presentMs === 0 || wantedMs <= presentMs)) return false;
  return !lt || presentMs === 0 || wantedMs < presentMs;
}

function expireBy(unit: ExpiryUnit, name: string): Apply {
  return (keys, request, { nowMs }) => {
    const key = argument(request, 1);
    const options = expireOptions(request);
    const expiresAtMs = instantOf(unit, request[2], nowMs, name);
    const entry = keys.get(key);
    if (entry === undefined || !permits(options, entry.expiresAtMs, expiresAtMs)) return integerReply(0);
    if (expiresAtMs <= nowMs) keys.delete(key);
    else keys.set(key, { ...entry, expiresAtMs });
    return integerReply(1);
  };
}

/** EXPIRE: seconds from now. */
export const expire = expireBy('EX', 'expire');
/** PEXPIRE: milliseconds from now. */
export const pexpire = expireBy('PX', 'pexpire');
/** EXPIREAT: seconds since the epoch. */
export const expireat = expireBy('EXAT', 'expireat');
/** PEXPIREAT: milliseconds since the epoch. */
export const pexpireat = expireBy('PXAT', 'pexpireat');

/** PERSIST: removes the expiry; 0 if there was none. */
export const persist: Apply = (keys, request) => {
  const key = argument(request, 1);
  const entry = keys.get(key);
  if (entry === undefined || entry.expiresAtMs === 0) return integerReply(0);
  keys.set(key, { ...entry, expiresAtMs: 0 });
  return integerReply(1);
};

/** -2: no such key; -1: it does not expire. */
function timeLeft(unitMs: number, since: 'now' | 'epoch'): Apply {
  return (keys, request, { nowMs }) => {
    const entry = keys.get(argument(request, 1));
    if (entry === undefined) return integerReply(-2);
    if (entry.expiresAtMs === 0) return integerReply(-1);
    const ms = since === 'now' ? entry.expiresAtMs - nowMs : entry.expiresAtMs;
    // Redis rounds seconds, too.
    return integerReply(unitMs === 1 ? ms : Math.floor((ms + unitMs / 2) / unitMs));
  };
}

/** TTL: the seconds left. */
export const ttl = timeLeft(1000, 'now');
/** PTTL: the milliseconds left. */
export const pttl = timeLeft(1, 'now');
/** EXPIRETIME: the expiry in seconds since the epoch. */
export const expiretime = timeLeft(1000, 'epoch');
/** PEXPIRETIME: the expiry in milliseconds since the epoch. */
export const pexpiretime = timeLeft(1, 'epoch');

const noSuchKey = 'ERR no such key';

/** RENAME: moves a value with its expiry to another key. */
export const rename: Apply = (keys, request) => {
  const [from, to] = [argument(request, 1), argument(request, 2)];
  const entry = keys.get(from);
  if (entry === undefined) throw new Refusal(noSuchKey);
  if (from.equals(to)) return okReply;
  keys.delete(from);
  keys.set(to, entry);
  return okReply;
};

/** RENAMENX: the same unless the other key exists; 1 if it was done. */
export const renamenx: Apply = (keys, request) => {
  const [from, to] = [argument(request, 1), argument(request, 2)];
  const entry = keys.get(from);
  if (entry === undefined) throw new Refusal(noSuchKey);
  if (keys.get(to) !== undefined) return integerReply(0);
  keys.delete(from);
  keys.set(to, entry);
  return integerReply(1);
};

/** COPY: copies a value with its expiry; 1 if it was done. */
export const copy: Apply = (keys, request) => {
  const [from, to] = [argument(request, 1), argument(request, 2)];
  let replaces = false;
  for (const word of request.slice(3)) {
    const option = word.toString('latin1').toUpperCase();
    if (option === 'DB') throw new Refusal('ERR COPY to another database is not supported');
    if (option !== 'REPLACE') throw new Refusal(texts.syntax);
    replaces = true;
  }
  if (from.equals(to)) throw new Refusal('ERR source and destination objects are the same');
  const entry = keys.get(from);
  if (entry === undefined || (!replaces && keys.get(to) !== undefined)) return integerReply(0);
  keys.set(to, entry);
  return integerReply(1);
};

const objectHelp: readonly string[] = [
  'OBJECT <subcommand> [<arg> ...]. Subcommands are:',
  'ENCODING <key>: int, embstr or raw, as redis-server would store the value; IDLETIME <key>: always 0;',
  'REFCOUNT <key>: always 1; FREQ <key>: an error, since no access is counted; HELP',
];
/** The most bytes of a value whose encoding Redis calls `embstr`. */
const embeddedBytesMax = 44;

/** Refuses a subcommand of OBJECT that there is not, and a wrong number of its arguments. */
export function checkObject(request: Request): void {
  const given = argument(request, 1).toString('latin1');
  const subcommand = given.toUpperCase();
  if (!['ENCODING', 'IDLETIME', 'REFCOUNT', 'FREQ', 'HELP'].includes(subcommand))
    throw unknownSubcommand('OBJECT', given);
  if (request.length !== (subcommand === 'HELP' ? 2 : 3)) throw wrongArity(`object|${given.toLowerCase()}`);
}

/** OBJECT: what Redis's tools ask about a value. Idle time and reference count are constants. */
export const object: Apply = (keys, request, { version }) => {
  checkObject(request);
  const subcommand = argument(request, 1).toString('latin1').toUpperCase();
  if (subcommand === 'HELP') return arrayReply(objectHelp.map((line) => simpleReply(line)));
  const entry = keys.get(argument(request, 2));
  if (entry === undefined) return nilReply(version);
  switch (subcommand) {
    case 'ENCODING': {
      const { value } = entry;
      if (readInteger(value) !== undefined) return textReply('int');
      return textReply(value.length <= embeddedBytesMax ? 'embstr' : 'raw');
    }
    case 'IDLETIME':
      return integerReply(0);
    case 'REFCOUNT':
      return integerReply(1);
    default:
      throw new Refusal(
        'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.',
      );
  }
};
