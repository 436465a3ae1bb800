/** Commands on keys whatever they hold, as pure functions over a working set (source: the Redis command reference). */
import type { ExpiryUnit } from './expiry-options.ts';
import { instantOf } from './expiry-options.ts';
import { Refusal } from './refusals.ts';
import { integerReply, simpleReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { Apply } from './value-commands.ts';
import { argument } from './value-commands.ts';

export const del: Apply = (keys, request) => {
  let count = 0;
  for (let at = 1; at < request.length; at++) if (keys.delete(argument(request, at))) count += 1;
  return integerReply(count);
};

export const exists: Apply = (keys, request) => {
  let count = 0;
  for (let at = 1; at < request.length; at++) if (keys.get(argument(request, at)) !== undefined) count += 1;
  return integerReply(count);
};

export const type: Apply = (keys, request) =>
  simpleReply(keys.get(argument(request, 1)) === undefined ? 'none' : 'string');

/** Conditions on the expiry that is there. */
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

/** A key without an expiry lives longest of all. */
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

export const expire = expireBy('EX', 'expire');
export const pexpire = expireBy('PX', 'pexpire');
export const expireat = expireBy('EXAT', 'expireat');
export const pexpireat = expireBy('PXAT', 'pexpireat');

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
    // Seconds are rounded, as Redis does.
    return integerReply(unitMs === 1 ? ms : Math.floor((ms + unitMs / 2) / unitMs));
  };
}

export const ttl = timeLeft(1000, 'now');
export const pttl = timeLeft(1, 'now');
export const expiretime = timeLeft(1000, 'epoch');
export const pexpiretime = timeLeft(1, 'epoch');
