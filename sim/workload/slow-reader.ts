/**
 * `slow-reader`: a client sends a node many requests at once, reads nothing for a while, and then reads all replies.
 * The node may buffer what the connection holds and no more: it must stop reading commands, after which its kernel
 * stops accepting bytes.
 */
import { present } from '../../engine/base/assert.ts';
import { ReplyReader } from '../../engine/api/redis/reply-reader.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address, Connection } from '../../engine/io/network.ts';
import { Deferred } from '../../engine/base/deferred.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { SlowReading } from '../evidence/slow-reading.ts';

/** One slow reader: how many requests of how many bytes, and how long it does not read. */
export interface SlowReader {
  readonly node: string;
  readonly address: Address;
  /** Its credentials; undefined if the node demands none. */
  readonly token: string | undefined;
  readonly requests: number;
  readonly bytes: number;
  readonly forUs: number;
  readonly nowUs: () => number;
}

/** How long it waits for the connection, and for all replies once it reads, in microseconds. */
const connectTimeoutUs = 500_000;
const answerTimeoutUs = 30_000_000;

/** Undefined if no connection could be made. */
export async function readSlowly(reader: SlowReader, io: Io): Promise<SlowReading | undefined> {
  const { node, token, requests, bytes, forUs, nowUs } = reader;
  let connection: Connection;
  try {
    connection = await io.network.connect(reader.address, connectTimeoutUs);
  } catch {
    // The node is down, or a partition separates it from the client.
    return undefined;
  }
  const replies = new Replies(token === undefined ? 0 : 1);
  connection.start({
    onData: (chunk) => replies.take(chunk),
    onDrain: () => undefined,
    onEnd: () => replies.over(),
    onClose: () => replies.over(),
  });
  connection.pause();
  let askedBytes = 0;
  if (token !== undefined) connection.write(command('AUTH', token));
  for (let index = 0; index < requests; index++) {
    const request = command('ECHO', textOf(index, bytes));
    askedBytes += request.length;
    connection.write(request);
  }
  await sleep(io.clock, forUs);
  const takenBytes = askedBytes - connection.pendingBytes;
  connection.resume();
  const late = io.clock.after(answerTimeoutUs, () => replies.over());
  const answered = await replies.until(requests, (index) => textOf(index, bytes));
  late.cancel();
  connection.destroy();
  return { node, atUs: nowUs(), askedBytes, takenBytes, asked: requests, answered };
}

/** A different text for every request. */
function textOf(index: number, bytes: number): string {
  return `${index}:`.padEnd(bytes, 'x');
}

function command(name: string, text: string): Buffer {
  return Buffer.from(`*2\r\n$4\r\n${name}\r\n$${text.length}\r\n${text}\r\n`);
}

class Replies {
  readonly #reader = new ReplyReader();
  readonly #done = new Deferred<number | undefined>();
  #wanted: ((index: number) => string) | undefined;
  /** Replies to come before the first of those. */
  #before: number;
  #count = 0;
  #most = Infinity;
  #right = 0;
  #unread: Uint8Array[] = [];

  /** `before`: replies that precede those that are wanted. */
  constructor(before: number) {
    this.#before = before;
  }

  take(chunk: Uint8Array): void {
    this.#unread.push(Uint8Array.from(chunk));
    this.#read();
  }

  over(): void {
    this.#done.resolve(undefined);
  }

  /** How many of `count` replies were the wanted ones; undefined if not all came. */
  until(count: number, wanted: (index: number) => string): Promise<number | undefined> {
    this.#most = count;
    this.#wanted = wanted;
    this.#read();
    return this.#done.promise;
  }

  #read(): void {
    if (this.#wanted === undefined) return;
    for (const chunk of this.#unread) this.#reader.push(chunk);
    this.#unread = [];
    for (let reply = this.#reader.next(); reply !== undefined; reply = this.#reader.next()) {
      if (this.#before > 0) {
        this.#before -= 1;
        continue;
      }
      const text = present(this.#wanted, 'what is wanted')(this.#count++);
      if (reply.kind === 'bulk' && reply.bytes.toString() === text) this.#right += 1;
    }
    if (this.#count >= this.#most) this.#done.resolve(this.#right);
  }
}
