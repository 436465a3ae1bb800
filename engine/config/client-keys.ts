/** The configuration keys of all client listeners, for the table of `keys.ts`. */
import type { KeyRows } from './config-key.ts';
import { untried } from './config-key.ts';
import type { ValueKind } from './values.ts';
import { wholeNumber, listOf, parsedText } from './values.ts';

/** A list of names in lower case; `any`; or `auto`, which depends on the listener's address. */
export type HostNames = readonly string[] | 'auto' | 'any';

const nameForm = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*$/;

const names = listOf(
  parsedText('a host name without a port', (given) => {
    const name = given.toLowerCase();
    return nameForm.test(name) ? name : undefined;
  }),
  100,
);

/** `auto`, `any`, or a list of at most 100 host names without ports. */
export const hostNames: ValueKind<HostNames> = {
  allowed: `auto, any, or ${names.allowed}`,
  read(given, path, report) {
    if (given === 'auto' || given === 'any') return { value: given };
    return names.read(given, path, (at, problem) => report(at, `${problem}, or auto, or any`));
  },
};

/** The default of `client_connections_max`. A lower limit of open files reduces it, without a warning for this default. */
export const clientConnectionsDefault = 10_000;

/** The rows. */
export const clientKeys = {
  clientAnswerBytesMax: {
    kind: wholeNumber(1024 ** 2, 64 * 1024 ** 3, 'bytes'),
    fallback: 512 * 1024 ** 2,
    trial: [4 * 1024 ** 2, 512 * 1024 ** 2],
    help: 'Bytes of answers that may wait for clients to take them, of all clients and listeners together; beyond it the connection that leaves most unread is closed.',
  },
  clientConnectionsMax: {
    kind: wholeNumber(1, 65_535, 'connections'),
    fallback: clientConnectionsDefault,
    trial: [200, clientConnectionsDefault],
    help: 'Client connections open at most, per listener; further ones are closed at once. On the HTTP and statistics listeners a further one takes the place of the client that is waited for longest, where there is one. Fewer where the system allows fewer open files.',
  },
  clientHeaderLinesMax: {
    kind: wholeNumber(16, 1000, 'lines'),
    fallback: 256,
    trial: untried('requests of the simulated clients have few lines; engine/api/http tests the limit'),
    help: 'Header lines that a request to the HTTP and statistics listeners may have; one with more is answered 431, and nothing of it is done.',
  },
  clientHosts: {
    kind: hostNames,
    fallback: 'auto',
    trial: untried('simulated clients address nodes by their names'),
    help: 'As whom the HTTP and statistics listeners let themselves be addressed (Host header), beside IP addresses and localhost; auto: by any name, but by none on loopback without credentials, where pages of the web could reach them.',
  },
  clientReadBytesMax: {
    kind: wholeNumber(1024 ** 2, 64 * 1024 ** 3, 'bytes'),
    fallback: 256 * 1024 ** 2,
    trial: [1024 ** 2, 256 * 1024 ** 2],
    help: 'Bytes of objects over 64 KiB that reads under way may bring to this node, of all clients together; further ones wait for their turn. One is always let in.',
  },
  clientReadTimeoutMs: {
    kind: wholeNumber(100, 3_600_000, 'ms'),
    fallback: 60_000,
    trial: [10_000, 60_000],
    help: 'How long a client may take to send a request that it has begun, on each listener; then its connection is closed.',
  },
  clientRequestBytesMax: {
    kind: wholeNumber(1024 ** 2, 64 * 1024 ** 3, 'bytes'),
    fallback: 256 * 1024 ** 2,
    trial: [4 * 1024 ** 2, 256 * 1024 ** 2],
    help: 'Bytes that requests being received may hold, of all clients and listeners together; what goes beyond is refused. A quarter is kept for requests of 64 KiB at most; one larger request is always received. Commands between MULTI and EXEC and values under WATCH may hold a quarter as much again.',
  },
  clientWaitMsMax: {
    kind: wholeNumber(0, 60_000, 'ms'),
    fallback: 250,
    trial: untried('the world charges no processor time, so no request waits; engine/api/session tests it'),
    help: 'How long requests of clients may wait for this node before they begin. While all wait longer than this for four times as long, the node refuses those that it cannot begin in time with Overloaded (503 and Retry-After; OVERLOADED). 0: it refuses none for that.',
  },
  clientWriteTimeoutMs: {
    kind: wholeNumber(100, 3_600_000, 'ms'),
    fallback: 60_000,
    trial: [10_000, 60_000],
    help: 'How long a client may take nothing of the answers that wait for it, on each listener; then its connection is closed.',
  },
  slowRequestMs: {
    kind: wholeNumber(0, 3_600_000, 'ms'),
    fallback: 1_000,
    trial: [0, 5, 1_000],
    help: 'Requests of clients that take at least this long are logged as api.request.slow with where their time went, at most ten a second. 0: none is.',
  },
} as const satisfies KeyRows;
