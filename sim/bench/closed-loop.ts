/**
 * A closed loop of clients over real sockets: each connection has one request in flight. Used to compare servers, so
 * the loop is the same for all of them and only the conversation differs.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** How one connection talks: the bytes of a request, and how many bytes of a buffer are its whole answer. */
export interface Conversation {
  /** The next request's bytes. */
  request(): Buffer;
  /** Length of the answer at the front of `received`, or 0 while it is not whole. Throws when it is an error. */
  answerBytes(received: Buffer): number;
}

export interface LoopResult {
  readonly operations: number;
  readonly errors: number;
  readonly seconds: number;
  /** Microseconds per operation, in no order. */
  readonly latenciesUs: readonly number[];
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const noBytes: Buffer = Buffer.alloc(0);

/** Runs `connections` loops, spread over the endpoints, for `seconds`. */
export async function closedLoop(
  endpoints: readonly Endpoint[],
  connections: number,
  seconds: number,
  makeConversation: (index: number) => Conversation,
): Promise<LoopResult> {
  const latenciesUs: number[] = [];
  let errors = 0;
  const startedUs = nowUs();
  const untilUs = startedUs + seconds * 1e6;
  const loops = Array.from({ length: connections }, async (_, index) => {
    const endpoint = endpoints[index % endpoints.length];
    if (endpoint === undefined) throw new Error('no endpoint');
    errors += await loop(endpoint, makeConversation(index), untilUs, latenciesUs);
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
  latenciesUs: number[],
): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(endpoint.port, endpoint.host);
    socket.setNoDelay(true);
    let received: Buffer = noBytes;
    let sentUs = 0;
    let errors = 0;
    const send = (): void => {
      sentUs = nowUs();
      if (sentUs >= untilUs) socket.end();
      else socket.write(conversation.request());
    };
    socket.on('connect', send);
    socket.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      try {
        const length = conversation.answerBytes(received);
        if (length === 0) return;
        received = received.subarray(length);
        latenciesUs.push(nowUs() - sentUs);
      } catch {
        received = noBytes;
        errors += 1;
      }
      send();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(errors));
  });
}
