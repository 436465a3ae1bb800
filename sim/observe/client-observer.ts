/**
 * Decodes the client connections of one incarnation from the wire, independently of the engine: requests as the process
 * receives them, answers as it writes them, and how connections end. Answers on a connection come in the order of its
 * requests. Malformed frames, and connections that end within a frame, are the client's fault and break the connection.
 */
import type { ClientReply } from '../../engine/api/pbc/client-codec.ts';
import { decodeReply } from '../../engine/api/pbc/client-codec.ts';
import type { Frame } from '../../engine/api/pbc/frames.ts';
import { FrameReader } from '../../engine/api/pbc/frames.ts';
import { messages } from '../../engine/api/pbc/schema.ts';
import type { LockTransactionResp } from '../../engine/api/pbc/transaction-messages.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import type { CloseReason } from '../../engine/io/network.ts';
import { parseXid } from '../../engine/transactions/formats/xid.ts';
import type { ClientTruth } from '../check/metrics/reconcile/account.ts';
import type { AnswerTimes } from './answer-times.ts';
import { Guesses } from './guesses.ts';
import { HttpConversation } from './http-conversation.ts';
import { Tallies } from './tallies.ts';

const turnedAwayCodes: readonly string[] = ['Unauthorized', 'Forbidden'];
/** Of these the node looks at nothing but the credential. */
const unreadCodes: readonly string[] = [...turnedAwayCodes, 'RateLimited'];

/** `question`: about a transaction; `resolution`: an operator's over a branch. */
type Asked =
  | 'get'
  | 'put'
  | 'delete'
  | 'transaction'
  | 'question'
  | 'resolution'
  | 'job'
  | 'listing'
  | 'bucketList'
  | 'login'
  | 'other';

/** Request kinds whose answers the node counts as object requests; the value says whether the request is a read. */
const readsObjects: Readonly<Partial<Record<Asked, boolean>>> = {
  get: true,
  question: true,
  put: false,
  delete: false,
  transaction: false,
  resolution: false,
};

/** Other request kinds that read. */
const readsMore: readonly Asked[] = ['job', 'listing', 'bucketList'];

/** One connection of the binary protocol, at the server's side. */
class Conversation {
  readonly heard: FrameReader;
  readonly wrote = new FrameReader(Number.MAX_SAFE_INTEGER);
  readonly owed: Asked[] = [];
  /** The operations of each transaction in `owed`. */
  readonly operations: number[] = [];
  broken = false;
  toldEnd = false;
  left: 'afterEnd' | 'first' | undefined;
  /** The node is stopping: it accepts no further request, and it does not count what the client does from here on. */
  letGo = false;

  constructor(frameBytesMax: number) {
    this.heard = new FrameReader(frameBytesMax);
  }
}

/** Counts requests, answers and connection ends of one incarnation, for the client equations of `metrics-reconcile`. */
export class ClientObserver {
  readonly #frameBytesMax: number;
  readonly #sums = new Tallies();
  readonly #open = new Map<number, Conversation>();
  readonly #http = new Map<number, HttpConversation>();
  readonly #guesses = new Guesses();
  readonly #times: AnswerTimes | undefined;

  /**
   * `frameBytesMax`: the longest frame that the node accepts on the binary protocol, in bytes. `times`, if given,
   * learns of every request and answer.
   */
  constructor(frameBytesMax: number, times?: AnswerTimes) {
    this.#frameBytesMax = frameBytesMax;
    this.#times = times;
  }

  get truth(): ClientTruth {
    const sums = this.#sums;
    return {
      open: this.#open.size + this.#http.size,
      eof: sums.get('eof'),
      broken: sums.get('broken'),
      gets: sums.get('get'),
      puts: sums.get('put'),
      deletes: sums.get('delete'),
      others: ['other', 'login', ...readsMore].reduce((sum, asked) => sum + sums.get(asked), 0),
      valuesRead: sums.get('valuesRead'),
      http: {
        gets: sums.get('http.get'),
        puts: sums.get('http.put'),
        deletes: sums.get('http.delete'),
        answers: sums.get('http.answers'),
        valuesRead: sums.get('http.valuesRead'),
      },
      answers: sums.get('answers'),
      errors: sums.under('error.'),
      getErrors: sums.under('get.error.'),
      writeErrors: sums.under('write.error.'),
      definiteErrors: sums.under('definite.error.'),
      guesses: this.#guesses.unanswered,
      turnedAway: turnedAwayCodes.reduce((sum, code) => sum + sums.get(`error.${code}`), 0),
      rateLimited: sums.get('error.RateLimited'),
      abandonedGets: sums.get('abandoned.get') + sums.get('abandoned.question'),
      abandonedWrites: ['write', 'transaction', 'resolution'].reduce(
        (sum, asked) => sum + sums.get(`abandoned.${asked}`),
        0,
      ),
      jobs: {
        heard: sums.get('job'),
        done: sums.get('job.done'),
        failed: sums.get('job.failed'),
        abandoned: sums.get('abandoned.job'),
      },
      transactions: {
        heard: sums.get('transaction'),
        operations: sums.get('operations'),
        questions: sums.get('question'),
        resolutions: sums.get('resolution'),
        resolved: sums.under('resolved.'),
        ended: sums.under('ended.'),
        failed: sums.get('transaction.failed'),
        abandoned: sums.get('abandoned.transaction'),
        abandonedResolutions: sums.get('abandoned.resolution'),
      },
    };
  }

  opened(id: number, http: boolean): void {
    if (http) this.#http.set(id, new HttpConversation());
    else this.#open.set(id, new Conversation(this.#frameBytesMax));
  }

  heard(id: number, bytes: Uint8Array): void {
    const exchange = this.#http.get(id);
    if (exchange !== undefined) {
      this.#guesses.heard(id, bytes);
      const asked = exchange.heard(bytes);
      // The gate refuses a guessed token at once, and answers later.
      if (this.#guesses.has(id)) exchange.owed = undefined;
      else if (asked !== undefined) {
        this.#sums.add(`http.${asked}`);
        this.#times?.asked(id, { what: `${asked} over HTTP`, allowedMs: exchange.timeoutMs, hasId: false });
      }
    }
    const conversation = this.#open.get(id);
    if (conversation === undefined || !listens(conversation)) return;
    conversation.heard.push(bytes);
    try {
      for (let frame = conversation.heard.next(); frame !== undefined; frame = conversation.heard.next()) {
        this.#asked(id, conversation, frame);
      }
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      this.#break(conversation);
    }
  }

  wrote(id: number, bytes: Uint8Array): void {
    const exchange = this.#http.get(id);
    if (exchange !== undefined) {
      this.#guesses.answered(id);
      this.#httpAnswered(id, exchange, bytes);
    }
    const conversation = this.#open.get(id);
    if (conversation === undefined) return;
    conversation.wrote.push(bytes);
    for (let frame = conversation.wrote.next(); frame !== undefined; frame = conversation.wrote.next()) {
      this.#replied(id, conversation, decodeReply(frame));
    }
  }

  toldEnd(id: number): void {
    const exchange = this.#http.get(id);
    if (exchange !== undefined) exchange.toldEnd = true;
    const conversation = this.#open.get(id);
    if (conversation === undefined) return;
    conversation.toldEnd = true;
    if (conversation.heard.pendingBytes > 0 && listens(conversation)) this.#break(conversation);
  }

  /**
   * The listener of the binary protocol is closed: from here on the node accepts no request and closes the open
   * connections.
   */
  letGo(): void {
    for (const conversation of this.#open.values()) conversation.letGo ||= listens(conversation);
  }

  /** The same for the HTTP listener. */
  letGoOfHttp(): void {
    for (const exchange of this.#http.values()) exchange.letGo = true;
  }

  left(id: number): void {
    const exchange = this.#http.get(id);
    if (exchange !== undefined) exchange.left = true;
    const conversation = this.#open.get(id);
    if (conversation !== undefined) conversation.left = conversation.toldEnd ? 'afterEnd' : 'first';
    this.#times?.closed(id);
  }

  closed(id: number, reason: CloseReason): void {
    this.#times?.closed(id);
    const exchange = this.#http.get(id);
    if (exchange !== undefined) {
      this.#count(causeOfHttp(exchange, reason));
      if (exchange.owed !== undefined)
        this.#sums.add(`abandoned.${exchange.owed === 'get' ? 'get' : 'write'}`);
    }
    this.#http.delete(id);
    this.#guesses.closed(id);
    const conversation = this.#open.get(id);
    if (conversation === undefined) return;
    this.#open.delete(id);
    this.#count(causeOf(conversation));
    for (const asked of conversation.owed) {
      if (asked === 'other' || asked === 'login') continue;
      this.#sums.add(`abandoned.${asked === 'put' || asked === 'delete' ? 'write' : asked}`);
    }
  }

  /** The connection is broken: the node owes an error, and nothing more. */
  #break(conversation: Conversation): void {
    conversation.broken = true;
    conversation.owed.push('other');
    this.#sums.add('other');
  }

  #count(cause: 'eof' | 'broken' | 'closedHere'): void {
    this.#sums.add(cause);
  }

  #asked(id: number, conversation: Conversation, frame: Frame): void {
    const { asked, timeout, operations = 0, hasId = false } = requestOf(frame);
    conversation.owed.push(asked);
    const allowedMs = timeout === 0 ? undefined : timeout;
    this.#times?.asked(id, { what: `${asked} over the binary protocol`, allowedMs, hasId });
    this.#sums.add(asked);
    if (asked !== 'transaction') return;
    conversation.operations.push(operations);
    this.#sums.add('operations', operations);
  }

  /** The answer to a job or a listing consists of any number of frames. */
  #replied(id: number, conversation: Conversation, reply: ClientReply): void {
    if (goesOn(reply, conversation.owed[0])) return;
    this.#times?.answered(id);
    const asked = conversation.owed.shift() ?? 'other';
    // After a failed login the node reads nothing more from the connection.
    if (asked === 'login' && reply.kind === 'failed') conversation.broken = true;
    const operations = asked === 'transaction' ? (conversation.operations.shift() ?? 0) : 0;
    const counted = this.#unlessTurnedAway(asked, reply);
    if (counted !== asked) this.#sums.add('operations', -operations);
    this.#answered(counted, reply);
  }

  /** The node counts a request that it denies, but looks at nothing else in it. */
  #unlessTurnedAway(asked: Asked, reply: ClientReply): Asked {
    if (reply.kind !== 'failed' || !unreadCodes.includes(reply.code ?? '')) return asked;
    if (asked === 'job' && isOutOfReach(reply)) return asked;
    this.#sums.add(asked, -1);
    this.#sums.add('other');
    return 'other';
  }

  #answered(asked: Asked, reply: ClientReply): void {
    const reads = readsObjects[asked];
    if (asked === 'job') this.#sums.add(reply.kind === 'failed' ? 'job.failed' : 'job.done');
    else if (reads !== undefined) this.#sums.add('answers');
    if (reply.kind === 'got') this.#sums.add('valuesRead', reply.message.content?.length ?? 0);
    if (reply.kind === 'transacted') this.#ended(asked, reply.message);
    if (reply.kind !== 'failed') return;
    this.#failed(reply.code ?? '', reply.definite, reads === true || readsMore.includes(asked));
    if (asked === 'transaction') this.#sums.add('transaction.failed');
  }

  #failed(code: string, definite: boolean, reads: boolean): void {
    this.#sums.add(`error.${code}`);
    this.#sums.add(`${reads ? 'get' : 'write'}.error.${code}`);
    if (definite) this.#sums.add(`definite.error.${code}`);
  }

  /** Counts a transaction by its outcome or its abort reason; an operator's resolution by its decision. */
  #ended(asked: Asked, { outcome, reason, heuristic }: LockTransactionResp): void {
    if (asked === 'transaction') this.#sums.add(`ended.${textOf(reason ?? outcome)}`);
    if (asked === 'resolution') this.#sums.add(`resolved.${textOf(heuristic ?? outcome)}`);
  }

  /** Requests for objects are counted; all others on the HTTP listener are those of unauthenticated clients. */
  #httpAnswered(id: number, exchange: HttpConversation, bytes: Uint8Array): void {
    const { owed } = exchange;
    this.#sums.add('http.valuesRead', exchange.isGet ? exchange.wrote(bytes) : 0);
    const head = Buffer.from(bytes.subarray(0, headBytesMax)).toString('latin1');
    const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1];
    if (status === undefined) return;
    this.#times?.answered(id);
    exchange.owed = undefined;
    if (owed !== undefined && refusedAtTheGate.includes(status)) this.#sums.add(`http.${owed}`, -1);
    else if (owed !== undefined) this.#sums.add('http.answers');
    if (status < '400') return;
    const code = /\r\nX-Lockstep-Error: (\w+)\r\n/i.exec(head)?.[1] ?? '';
    const isHandlers = owed !== undefined || exchange.isForHandler;
    if (!answeredLikeOthers.includes(status) && !isHandlers && isOfThePort(head, code))
      exchange.refused = true;
    // A missing object is an ordinary answer.
    if (code === 'NotFound' && head.endsWith('\r\n\r\nnot found\n')) return;
    // A client that sends too slowly occupies no replica.
    const counted = status === '408' ? 'TooSlow' : code;
    this.#failed(counted, /\r\nX-Lockstep-Definite: true\r\n/i.test(head), exchange.isRead);
  }
}

/** Longest head of an HTTP answer, in bytes; the node writes it in one piece. */
const headBytesMax = 4096;
/** Statuses of requests that the gate refuses: without credentials, beyond them, or beyond their rate. */
const refusedAtTheGate: readonly string[] = ['401', '403', '429'];
/** Statuses of refusals after which the connection goes on. */
const answeredLikeOthers: readonly string[] = ['401', '403', '404', '405', '413', '429'];

/**
 * The listener itself gave this answer and closes the connection for it. An answer without `Connection: close` ends
 * nothing. One that has it may be a handler's, to a request that asked for it or at a listener that stops: such a request
 * came whole, and was for an object, the properties of a bucket or a bucket type, a listing, a backup or an upgrade, which the caller knows, or for a
 * module.
 */
function isOfThePort(head: string, code: string): boolean {
  if (code === 'WasmNotImplemented') return false;
  const end = head.indexOf('\r\n\r\n');
  return /\r\nConnection: close(\r\n|$)/i.test(end < 0 ? head : head.slice(0, end));
}

/** More frames of the same answer follow. */
function goesOn(reply: ClientReply, asked: Asked | undefined): boolean {
  if (reply.kind === 'mapReduced' || reply.kind === 'keys') return reply.message.done !== true;
  return asked === 'listing' && reply.kind === 'buckets' && reply.message.done !== true;
}

/** The node still reads requests from the connection. */
function listens({ broken, left, letGo }: Conversation): boolean {
  return !broken && left === undefined && !letGo;
}

function causeOf({ broken, left, letGo }: Conversation): 'eof' | 'broken' | 'closedHere' {
  if (broken) return 'broken';
  if (letGo) return 'closedHere';
  if (left === undefined) return 'broken';
  return left === 'afterEnd' ? 'eof' : 'closedHere';
}

function causeOfHttp(
  { refused, left, toldEnd, letGo }: HttpConversation,
  reason: CloseReason,
): 'eof' | 'broken' | 'closedHere' {
  if (refused || (reason !== 'ended' && reason !== 'closedHere')) return 'broken';
  return !letGo && (toldEnd || !left) ? 'eof' : 'closedHere';
}

/** The node has read the request and judged its buckets: a job of this kind counts as refused. */
function isOutOfReach(reply: ClientReply): boolean {
  return (
    reply.kind === 'failed' && reply.code === 'Forbidden' && reply.text.includes('is limited to the buckets')
  );
}

/** What a frame asks for, and the time that it states in milliseconds (0: none). */
interface Request {
  readonly asked: Asked;
  readonly timeout?: number | undefined;
  /** Of a transaction: how many operations it has, and whether under an idempotency key. */
  readonly operations?: number;
  readonly hasId?: boolean;
}

const otherRequest: Request = { asked: 'other' };

/** `other` for a malformed frame or one that is not an object request. */
function requestOf(frame: Frame): Request {
  try {
    return decodedRequest(frame);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return otherRequest;
  }
}

function decodedRequest(frame: Frame): Request {
  const { code, body } = frame;
  if (code === messages.getReq.code) return named(messages.getReq.decode(body), 'get');
  if (code === messages.putReq.code) return named(messages.putReq.decode(body), 'put');
  if (code === messages.delReq.code) return named(messages.delReq.decode(body), 'delete');
  if (code === messages.mapRedReq.code) return { asked: 'job' };
  if (code === messages.listKeysReq.code) return named(messages.listKeysReq.decode(body), 'listing');
  if (code === messages.listBucketsReq.code) {
    const { stream, timeout } = messages.listBucketsReq.decode(body);
    return { asked: stream === true ? 'listing' : 'bucketList', timeout };
  }
  if (code === messages.authReq.code) return { asked: 'login' };
  if (code === messages.transactionReq.code) {
    const { operations = [], timeout, id } = messages.transactionReq.decode(body);
    const hasId = id !== undefined && id.length > 0;
    return {
      asked: operations.length > 0 ? 'transaction' : 'other',
      ...{ timeout, operations: operations.length, hasId },
    };
  }
  if (code === messages.transactionListReq.code) return { asked: 'question' };
  if (code === messages.transactionGetReq.code)
    return { asked: asks(messages.transactionGetReq.decode(body), 'question') };
  if (code === messages.transactionResolveReq.code)
    return { asked: asks(messages.transactionResolveReq.decode(body), 'resolution') };
  return otherRequest;
}

function asks({ transaction_id: xid }: { readonly transaction_id: Uint8Array }, asked: Asked): Asked {
  return parseXid(textOf(xid)) === undefined ? 'other' : asked;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

function named(
  { bucket, timeout }: { readonly bucket: Uint8Array; readonly timeout?: number | undefined },
  asked: Asked,
): Request {
  return { asked: bucket.length === 0 ? 'other' : asked, timeout };
}
