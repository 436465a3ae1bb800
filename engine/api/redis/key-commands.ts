/**
 * Commands on keys, whatever their values, as pure functions over a working set.
 *
 * Source: the Redis command reference.
 */
import type { ExpiryUnit } from './expiry-options.ts';
import { instantOf } from './expiry-options.ts';
import { Refusal } from './refusals.ts';
import { integerReply, simpleReply } from './replies.ts';
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
  const words = request.slice(3).map((word) => word.toString('latin1'));
  const given = words.map((word) => word.toUpperCase());
  const strange = given.findIndex((word) => !['NX', 'XX', 'GT', 'LT'].includes(word));
  if (strange >= 0) throw new Refusal(`ERR Unsupported option ${words[strange] ?? ''}`);
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
