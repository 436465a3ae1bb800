/**
 * A closed loop of clients over real sockets: each connection has one request in flight. Used to compare servers: the
 * loop is the same for all, and only the protocol differs.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** The protocol of one connection: the bytes of a request, and the length of its complete answer. */
export interface Conversation {
  /** The next request's bytes; undefined to end the connection's loop. */
  request(): Buffer | undefined;
  /**
   * Length in bytes of the answer at the front of `received`, or 0 while it is incomplete. Throws for an error answer.
   */
  answerBytes(received: Buffer): number;
}

/** Errors by their message, with their number. */
export type ErrorCounts = Map<string, number>;

/** The result of one loop. */
export interface LoopResult {
  readonly operations: number;
  readonly errors: ErrorCounts;
  readonly seconds: number;
  /** Microseconds per operation, unordered. */
  readonly latenciesUs: readonly number[];
}

/** Address of a server. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** A request unanswered this many milliseconds after the loop's end is given up and counted as an error. */
const answerPatienceMs = 15_000;

const noBytes: Buffer = Buffer.alloc(0);

/**
 * Runs `connections` loops, spread over the endpoints, for `seconds`. Ends in bounded time whatever the servers do: a
 * request not answered within `answerPatienceMs` of the end is an error.
 */
export async function closedLoop(
  endpoints: readonly Endpoint[],
  connections: number,
  seconds: number,
  makeConversation: (index: number) => Conversation,
): Promise<LoopResult> {
  const latenciesUs: number[] = [];
  const errors: ErrorCounts = new Map();
  const startedUs = nowUs();
  const untilUs = startedUs + seconds * 1e6;
  const loops = Array.from({ length: connections }, async (_, index) => {
    const endpoint = endpoints[index % endpoints.length];
    if (endpoint === undefined) throw new Error('no endpoint');
    await loop(endpoint, makeConversation(index), untilUs, { latenciesUs, errors });
  });
  await Promise.all(loops);
  return { operations: latenciesUs.length, errors, seconds: (nowUs() - startedUs) / 1e6, latenciesUs };
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function loop(
  endpoint: Endpoint,
  conversation: Conversation,
  untilUs: number,
  { latenciesUs, errors }: { readonly latenciesUs: number[]; readonly errors: ErrorCounts },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(endpoint.port, endpoint.host);
    socket.setNoDelay(true);
    let received: Buffer = noBytes;
    let sentUs = 0;
    const leftMs = Math.max(0, untilUs - nowUs()) / 1000;
    const giveUp = setTimeout(() => {
      countError(errors, new Error(`no answer within ${answerPatienceMs / 1000} s of the loop's end`));
      socket.destroy();
    }, leftMs + answerPatienceMs);
    const send = (): void => {
      sentUs = nowUs();
      const request = sentUs < untilUs ? conversation.request() : undefined;
      if (request === undefined) socket.end();
      else socket.write(request);
    };
    socket.on('connect', send);
    socket.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      try {
        const length = conversation.answerBytes(received);
        if (length === 0) return;
        received = received.subarray(length);
        latenciesUs.push(nowUs() - sentUs);
      } catch (error) {
        received = noBytes;
        countError(errors, error);
      }
      send();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(giveUp);
      resolve();
    });
  });
}

/** Counts an error under its message. */
export function countError(errors: ErrorCounts, error: unknown): void {
  const words = error instanceof Error ? error.message : String(error);
  errors.set(words, (errors.get(words) ?? 0) + 1);
}
