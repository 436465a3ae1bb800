/** The configuration keys of the Redis listener, for the table of `keys.ts`. */
import type { Address } from '../io/network.ts';
import { optionalAddress } from './addresses.ts';
import { untried } from './config-key.ts';
import { text, wholeNumber } from './values.ts';

/** Settings of the Redis listener. */
export interface RedisFields {
  /** Undefined: off. */
  readonly redisListen: Address | undefined;
  /** A bucket of the type `default`. */
  readonly redisBucket: string;
  readonly redisAnswerBytesMax: number;
  readonly redisSubscriberBytesMax: number;
}

/** The rows. */
export const redisKeys = {
  redisListen: {
    kind: optionalAddress,
    fallback: 'off',
    trial: untried('clients use every listener'),
    help: 'Redis protocol listener for clients.',
  },
  redisBucket: {
    kind: text(64),
    fallback: 'redis',
    trial: untried('a name; which one changes nothing'),
    help: 'Bucket that the keys of Redis clients live in.',
  },
  redisAnswerBytesMax: {
    kind: wholeNumber(1024, 4 * 1024 ** 3 - 1, 'bytes'),
    fallback: 64 * 1024 ** 2,
    trial: [64 * 1024, 64 * 1024 ** 2],
    help: 'Bytes that one command on several keys (MGET, KEYS), or one transaction, may hold and answer; one value always may.',
  },
  redisSubscriberBytesMax: {
    kind: wholeNumber(1024, 4 * 1024 ** 3 - 1, 'bytes'),
    fallback: 32 * 1024 ** 2,
    trial: [64 * 1024, 32 * 1024 ** 2],
    help: 'Bytes of messages that may wait for a subscriber; more, or a quarter of it for a minute, ends its connection.',
  },
};
