/** The keys of every client listener, for the table of keys.ts. */
import { wholeNumber } from './values.ts';

export interface ClientFields {
  readonly clientConnectionsMax: number;
  readonly clientReadTimeoutMs: number;
}

export const clientKeys = {
  clientConnectionsMax: {
    kind: wholeNumber(1, 65_535, 'connections'),
    fallback: 10_000,
    help: 'Client connections open at most, per listener; further ones are closed at once.',
  },
  clientReadTimeoutMs: {
    kind: wholeNumber(100, 3_600_000, 'ms'),
    fallback: 60_000,
    help: 'How long a client may take to send a request that it has begun, on each listener; then its connection is closed.',
  },
};
