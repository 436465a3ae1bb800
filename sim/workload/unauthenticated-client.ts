/**
 * `unauthorized-request`: sends single requests without sufficient credentials to nodes that demand them. None may have
 * an effect. What such a request would write has names that no other client uses.
 */
import type { ClientRequest } from '../../engine/api/pbc/client-codec.ts';
import { present } from '../../engine/base/assert.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address } from '../../engine/io/network.ts';
import type { FalseCredential, GuardedListener } from '../evidence/unauthenticated-clients.ts';
import { worldTokens } from '../world/cluster/world-credentials.ts';
import type { HttpClient } from '../world/world.ts';
import { PbConnection } from './pb-connection.ts';
import type { RedisCommand } from './redis-connection.ts';
import { RedisConnection } from './redis-connection.ts';

/** One such request. */
export interface UnauthenticatedRequest {
  readonly listener: GuardedListener;
  readonly guise: FalseCredential;
  /** Which of the listener's requests to send, modulo their number. */
  readonly what: number;
  readonly address: Address;
}

/** What was asked, and the answer; `answered` is undefined if none came. */
export interface UnauthenticatedAnswer {
  readonly asked: string;
  readonly answered: string | undefined;
}

/** The key that these clients try to write over HTTP and the binary protocol. */
export const unauthenticatedPlace = { bucket: Buffer.from('kept'), key: Buffer.from('theirs') };

const patienceUs = 3_000_000;
const nobodysToken = 'a-token-of-nobody-at-all';

type HttpTry = readonly [method: 'GET' | 'PUT' | 'DELETE' | 'POST', path: string];

const httpTries: readonly HttpTry[] = [
  ['PUT', '/buckets/kept/keys/theirs'],
  ['DELETE', '/buckets/newest/keys/k0'],
  ['PUT', '/buckets/newest/props'],
  ['POST', '/cluster/leave?force=true'],
  ['POST', '/transactions'],
  ['PUT', '/wasm/modules/theirs'],
];
/** What the limited client tries in buckets that its credential does not reach. */
const limitedHttpTries: readonly HttpTry[] = [
  ['PUT', '/buckets/kept/keys/theirs'],
  ['PUT', '/types/default/buckets/kept/keys/theirs'],
  ['POST', '/riak/kept'],
  ['GET', '/buckets/kept/keys?keys=true'],
  ['GET', '/buckets/newest/keys/k0'],
  ['GET', '/buckets/kept/props'],
];
/** Reading is the smallest role, so no valid token is too weak here: all but `missing` send an unknown one. */
const statsTries: readonly HttpTry[] = [
  ['GET', '/metrics'],
  ['GET', '/stats'],
];
const pbTries: readonly ClientRequest[] = [
  { kind: 'put', message: { ...unauthenticatedPlace, content: { value: Buffer.from('theirs') } } },
  { kind: 'delete', message: { bucket: Buffer.from('newest'), key: Buffer.from('k0') } },
  { kind: 'setBucket', message: { bucket: Buffer.from('newest'), props: { allow_mult: true } } },
];
const own = { bucket: Buffer.from('mine:a'), key: Buffer.from('k') };
const theirs = { ...unauthenticatedPlace, content: { value: Buffer.from('theirs') } };
const limitedPbTries: readonly ClientRequest[] = [
  {
    kind: 'transaction',
    message: { operations: [{ ...own, content: { value: Buffer.from('mine') } }, theirs] },
  },
  { kind: 'put', message: theirs },
  { kind: 'get', message: { bucket: Buffer.from('newest'), key: Buffer.from('k0') } },
  { kind: 'listKeys', message: { bucket: Buffer.from('kept') } },
  {
    kind: 'transaction',
    message: {
      operations: [
        { ...own, content: { value: Buffer.from('mine') } },
        { ...own, key: Buffer.from('l'), content: { value: Buffer.from('mine') } },
        theirs,
      ],
    },
  },
  {
    kind: 'mapReduce',
    message: {
      content_type: Buffer.from('application/json'),
      request: Buffer.from('{"inputs":[["mine:a","k"],["kept","theirs"]],"query":[]}'),
    },
  },
];
const limitedRedisTries: readonly RedisCommand[] = [
  ['SET', 'theirs', 'theirs'],
  ['GET', 'theirs'],
  ['KEYS', '*'],
  ['MGET', 'theirs', 'others'],
  ['EVAL', "return redis.call('SET', KEYS[1], 'theirs')", '1', 'theirs'],
  ['PUBLISH', 'news', 'theirs'],
];
/** How often the hurried client asks: its credential allows a request a second. */
const hurriedCount = 3;
const redisTries: readonly RedisCommand[] = [
  ['SET', 'theirs', 'theirs'],
  ['DEL', 'theirs'],
  ['INCR', 'theirs'],
];

/** Sends one request. Never rejects: without a connection, nothing was answered. */
export async function visit(
  visiting: UnauthenticatedRequest,
  io: Io,
  http: HttpClient,
): Promise<UnauthenticatedAnswer> {
  const { listener } = visiting;
  try {
    if (listener === 'pb') return await overPb(visiting, io);
    if (listener === 'redis') return await overRedis(visiting, io);
    return await overHttp(visiting, http);
  } catch {
    // No connection could be made, or it was lost.
    return { asked: `${listener} ${visiting.guise}`, answered: undefined };
  }
}

async function overHttp(
  { listener, guise, what, address }: UnauthenticatedRequest,
  http: HttpClient,
): Promise<UnauthenticatedAnswer> {
  const tries = guise === 'limited' ? limitedHttpTries : httpTries;
  const [method, path] = choose(listener === 'stats' ? statsTries : tries, what);
  const wrong = guise === 'wrong' || (listener === 'stats' && guise !== 'missing');
  const token = wrong ? nobodysToken : tokenOf(guise);
  const authorization: Readonly<Record<string, string>> =
    guise === 'missing' ? {} : { Authorization: `Bearer ${token}` };
  const headers = { 'Content-Type': 'text/plain', ...authorization };
  const body = method === 'PUT' || method === 'POST' ? { body: 'theirs' } : {};
  const request = { method, path, headers, ...body };
  let { status } = await http.request(address, request, patienceUs);
  for (let more = 1; more < countOf(guise); more++)
    ({ status } = await http.request(address, request, patienceUs));
  return { asked: `${listener} ${guise}: ${method} ${path}`, answered: String(status) };
}

async function overPb(
  { guise, what, address }: UnauthenticatedRequest,
  io: Io,
): Promise<UnauthenticatedAnswer> {
  const connection = await PbConnection.open(io, { address, token: loginOf(guise) }, patienceUs);
  const guess = {
    kind: 'auth',
    message: { user: Buffer.from('adminer'), password: Buffer.from(nobodysToken) },
  } as const;
  const request = guise === 'wrong' ? guess : choose(guise === 'limited' ? limitedPbTries : pbTries, what);
  let exchange = await connection.ask(request, patienceUs);
  for (let more = 1; more < countOf(guise) && exchange.kind !== 'lost'; more++)
    exchange = await connection.ask(request, patienceUs);
  connection.close();
  const asked = `pb ${guise}: ${request.kind}`;
  if (exchange.kind === 'lost') return { asked, answered: undefined };
  const { answer } = exchange;
  return { asked, answered: answer.kind === 'failed' ? (answer.code ?? answer.text) : answer.kind };
}

async function overRedis(
  { guise, what, address }: UnauthenticatedRequest,
  io: Io,
): Promise<UnauthenticatedAnswer> {
  const connection = await RedisConnection.open(io, { address, token: loginOf(guise) }, patienceUs);
  const tries = guise === 'limited' ? limitedRedisTries : redisTries;
  const command: RedisCommand = guise === 'wrong' ? ['AUTH', nobodysToken] : choose(tries, what);
  let exchange = await connection.ask([command], patienceUs);
  for (let more = 1; more < countOf(guise) && exchange.kind !== 'lost'; more++)
    exchange = await connection.ask([command], patienceUs);
  connection.close();
  const asked = `redis ${guise}: ${command.join(' ')}`;
  const reply = exchange.kind === 'lost' ? undefined : exchange.answer[0];
  if (reply === undefined) return { asked, answered: undefined };
  return { asked, answered: reply.kind === 'error' ? (reply.text.split(' ')[0] ?? '') : reply.kind };
}

/** The token of a client with a valid credential. */
function tokenOf(guise: FalseCredential): string {
  return guise === 'limited' || guise === 'hurried' ? worldTokens[guise] : worldTokens.read;
}

/** The token that the client logs in with; undefined if it does not. */
function loginOf(guise: FalseCredential): string | undefined {
  return guise === 'missing' || guise === 'wrong' ? undefined : tokenOf(guise);
}

function countOf(guise: FalseCredential): number {
  return guise === 'hurried' ? hurriedCount : 1;
}

function choose<T>(tries: readonly T[], what: number): T {
  return present(tries[what % tries.length], 'a request');
}
