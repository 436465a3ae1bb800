/** The conversations of a load generator about transactions, over the binary protocol and over HTTP. */
import { decodeReply, encodeRequest } from '../../../engine/api/pbc/client-codec.ts';
import type { ClientReply } from '../../../engine/api/pbc/client-codec.ts';
import type { Conversation } from './closed-loop.ts';
import { closedLoop } from './closed-loop.ts';
import { httpAnswer } from './conversations.ts';
import type { LocalCluster } from '../servers/local-cluster.ts';

/** Number of keys in a cluster; every connection has some keys of each primary to itself. */
export const keyCount = 1500;
/** Puts in a batch whose values together are as long as one value of the others. */
export const partCount = 4;

/**
 * Writes every key in a transaction of its own, whose answer names its primary; resolves with the keys of each primary
 * by its name.
 */
export async function learnPrimaries(
  { endpoints }: LocalCluster,
  valueBytes: number,
): Promise<readonly (readonly string[])[]> {
  const byPrimary = new Map<string, string[]>();
  const connections = 32;
  await closedLoop(endpoints, connections, 60, (index) => {
    let next = index - connections;
    return {
      request: () => {
        next += connections;
        return next < keyCount ? transactionFrame([`k${next}`], valueBytes) : undefined;
      },
      answerBytes: (received) =>
        answer(received, (reply) => {
          const node = Buffer.from(committed(reply)[0]?.node ?? []).toString();
          byPrimary.set(node, [...(byPrimary.get(node) ?? []), `k${next}`]);
        }),
    };
  });
  if (byPrimary.size < endpoints.length) throw new Error('not every node is the primary of some key');
  return [...byPrimary].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, keys]) => keys);
}

/**
 * Transactions with one key of each list. The connections use disjoint keys, because conflicts are not measured.
 * `nextId` gives each an idempotency key; a repeated one would be a retry, answered from memory.
 */
export function transactions(
  lists: readonly (readonly string[])[],
  index: number,
  connections: number,
  valueBytes: number,
  nextId?: () => string,
): Conversation {
  let count = 0;
  return {
    request: () => {
      count += 1;
      const keys = lists.map((list) => {
        const own = Math.max(1, Math.floor(list.length / connections));
        return list[index + connections * (count % own)] ?? '';
      });
      return transactionFrame(keys, valueBytes, nextId?.());
    },
    answerBytes: (received) => answer(received, committed),
  };
}

/** Transactions with several keys of one list, whose values together are as long as one value of the others. */
export function parts(
  list: readonly string[],
  index: number,
  connections: number,
  valueBytes: number,
): Conversation {
  const nextKeys = partKeys(list, index, connections, partCount);
  return {
    request: () => transactionFrame(nextKeys(), Math.ceil(valueBytes / partCount)),
    answerBytes: (received) => answer(received, committed),
  };
}

/** The same over HTTP, with this many keys each. */
export function httpTransactions(
  list: readonly string[],
  index: number,
  connections: number,
  valueBytes: number,
  keys: number,
): Conversation {
  const nextKeys = partKeys(list, index, connections, keys);
  const value = 'v'.repeat(Math.ceil(valueBytes / keys));
  return {
    request: () => {
      const operations = nextKeys().map((key) => ({ op: 'put', bucket: 'bench', key, value }));
      const body = JSON.stringify({ operations });
      const head = `POST /transactions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
      return Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, 'latin1');
    },
    answerBytes: (received) => httpAnswer(received, '200'),
  };
}

/** The keys of successive transactions, from a part of the list that no other connection uses. */
function partKeys(
  list: readonly string[],
  index: number,
  connections: number,
  keys: number,
): () => readonly string[] {
  const own = Math.max(1, Math.floor(list.length / (connections * keys)));
  let count = 0;
  return () => {
    count += 1;
    const first = (index + connections * (count % own)) * keys;
    return Array.from({ length: keys }, (_, part) => list[first + part] ?? '');
  };
}

function transactionFrame(keys: readonly string[], valueBytes: number, id?: string): Buffer {
  const value = Buffer.alloc(valueBytes, 'v');
  const operations = keys.map((key) => ({
    bucket: Buffer.from('bench'),
    key: Buffer.from(key),
    content: { value },
  }));
  const name = id === undefined ? {} : { id: Buffer.from(id) };
  return encodeRequest({ kind: 'transaction', message: { operations, ...name } });
}

/** The branches of a committed transaction. Throws its outcome otherwise. */
function committed(reply: ClientReply): readonly { readonly node: Uint8Array }[] {
  if (reply.kind !== 'transacted')
    throw new Error(reply.kind === 'failed' ? reply.text : `answered ${reply.kind}`);
  const { outcome, reason, branches = [] } = reply.message;
  const word = Buffer.from(outcome).toString();
  if (word !== 'committed') throw new Error(`${word} ${Buffer.from(reason ?? []).toString()}`);
  return branches;
}

function answer(received: Buffer, take: (reply: ClientReply) => unknown): number {
  if (received.length < 4) return 0;
  const whole = 4 + received.readUInt32BE(0);
  if (received.length < whole) return 0;
  take(decodeReply({ code: received.readUInt8(4), body: received.subarray(5, whole) }));
  return whole;
}
