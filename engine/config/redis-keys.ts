/** The keys of the Redis protocol's listener, for the table of keys.ts. */
import type { Address } from '../io/network.ts';
import { optionalAddress } from './addresses.ts';
import { text } from './values.ts';

export interface RedisFields {
  /** Undefined: off. */
  readonly redisListen: Address | undefined;
  /** Of the bucket type `default`. */
  readonly redisBucket: string;
}

export const redisKeys = {
  redisListen: { kind: optionalAddress, fallback: 'off', help: 'Redis protocol listener for clients.' },
  redisBucket: { kind: text(64), fallback: 'redis', help: 'Bucket that the keys of Redis clients live in.' },
};
