/** The conversations of a load generator with a node: object requests over HTTP and over the binary protocol. */
import { decodeReply, encodeRequest } from '../../../engine/api/pbc/client-codec.ts';
import type { Conversation } from './closed-loop.ts';

/** The keys on which a connection works. */
export interface KeySpace {
  readonly prefix: string;
  readonly keys: number;
  readonly valueBytes: number;
}

function nextKey(space: KeySpace, connection: number): () => string {
  let counter = connection * 7919;
  return () => `${space.prefix}${(counter = (counter + 104729) % space.keys)}`;
}

/** Puts every key of the space once, divided among the connections, so that later gets find their keys. */
export function pbFill(space: KeySpace, connection: number, connections: number): Conversation {
  let next = connection - connections;
  return {
    request: () => {
      next += connections;
      return next < space.keys ? pbPutRequest(space, `${space.prefix}${next}`) : undefined;
    },
    answerBytes: (received) => pbAnswer(received, 'stored'),
  };
}

/** Puts of single objects over HTTP. */
export function httpPut(space: KeySpace, connection: number): Conversation {
  const key = nextKey(space, connection);
  const body = 'v'.repeat(space.valueBytes);
  const head = `Host: localhost\r\nContent-Type: text/plain\r\nContent-Length: ${space.valueBytes}\r\n\r\n${body}`;
  return {
    request: () => Buffer.from(`PUT /buckets/bench/keys/${key()} HTTP/1.1\r\n${head}`, 'latin1'),
    answerBytes: (received) => httpAnswer(received, '204'),
  };
}

/** Gets of single objects over HTTP. */
export function httpGet(space: KeySpace, connection: number): Conversation {
  const key = nextKey(space, connection);
  return {
    request: () =>
      Buffer.from(`GET /buckets/bench/keys/${key()} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 'latin1'),
    answerBytes: (received) => httpAnswer(received, '200'),
  };
}

/** Puts over the binary protocol. */
export function pbPut(space: KeySpace, connection: number): Conversation {
  const key = nextKey(space, connection);
  return {
    request: () => pbPutRequest(space, key()),
    answerBytes: (received) => pbAnswer(received, 'stored'),
  };
}

/** The bytes of a put over the binary protocol, of a value of the space's length. */
export function pbPutRequest(space: Pick<KeySpace, 'valueBytes'>, key: string): Buffer {
  const content = { value: Buffer.alloc(space.valueBytes, 'v'), content_type: Buffer.from('text/plain') };
  return encodeRequest({
    kind: 'put',
    message: { bucket: Buffer.from('bench'), key: Buffer.from(key), content },
  });
}

/** Gets over the binary protocol. */
export function pbGet(space: KeySpace, connection: number): Conversation {
  const key = nextKey(space, connection);
  return {
    request: () => pbGetRequest(key()),
    answerBytes: (received) => pbAnswer(received, 'got'),
  };
}

/**
 * Length in bytes of the HTTP answer at the front, 0 while it is incomplete. Throws if its status is not the expected
 * one.
 */
export function httpAnswer(received: Buffer, expected: string): number {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const head = received.toString('latin1', 0, headEnd);
  const length = Number(/content-length: *([0-9]+)/i.exec(head)?.[1] ?? 0);
  const whole = headEnd + 4 + length;
  if (received.length < whole) return 0;
  if (head.slice(9, 12) !== expected) {
    throw new Error(`HTTP ${head.slice(9, 12)} ${received.toString('latin1', headEnd + 4, whole).trim()}`);
  }
  return whole;
}

/** The bytes of a get over the binary protocol. */
export function pbGetRequest(key: string): Buffer {
  return encodeRequest({ kind: 'get', message: { bucket: Buffer.from('bench'), key: Buffer.from(key) } });
}

/**
 * Length in bytes of the answer of the binary protocol at the front, 0 while it is incomplete. Throws if it is not the
 * expected one.
 */
export function pbAnswer(received: Buffer, expected: string): number {
  if (received.length < 4) return 0;
  const whole = 4 + received.readUInt32BE(0);
  if (received.length < whole) return 0;
  const reply = decodeReply({ code: received.readUInt8(4), body: received.subarray(5, whole) });
  if (reply.kind === 'failed') throw new Error(`${reply.code ?? 'error'}: ${reply.text}`);
  if (reply.kind !== expected) throw new Error(`answered ${reply.kind}`);
  return whole;
}
