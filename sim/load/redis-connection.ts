/**
 * A simulated Redis client's connection: commands in RESP over the network door, one batch at a time with a deadline.
 * Whatever ends it early (a reset, the node's end, bytes that are no reply, the deadline) ends it for good.
 */
import type { Reply } from '../../engine/api/redis/reply-reader.ts';
import { ReplyReader } from '../../engine/api/redis/reply-reader.ts';
import { Deferred } from '../../engine/base/deferred.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address, Connection } from '../../engine/io/network.ts';

export type RedisCommand = readonly (string | number)[];

/** `lost`: the commands may or may not have been carried out. */
export type RedisExchange =
  | { readonly kind: 'answered'; readonly replies: readonly Reply[] }
  | { readonly kind: 'lost'; readonly reason: string };

export class RedisConnection {
  readonly #io: Io;
  readonly #connection: Connection;
  readonly #reader = new ReplyReader();
  #replies: Reply[] = [];
  #wanted = 0;
  #waiting: Deferred<RedisExchange> | undefined;
  #over: string | undefined;

  constructor(io: Io, connection: Connection) {
    this.#io = io;
    this.#connection = connection;
    connection.start({
      onData: (chunk) => this.#receive(chunk),
      onDrain: () => {
        // One small batch is under way at most; nothing waits for room.
      },
      onEnd: () => this.#fail('the node ended the connection'),
      onClose: (reason) => this.#fail(`the connection is over: ${reason}`),
    });
  }

  /** Connects. Rejects with `ConnectError`. */
  static async open(io: Io, address: Address, timeoutUs: number): Promise<RedisConnection> {
    return new RedisConnection(io, await io.network.connect(address, timeoutUs));
  }

  /** It can take commands. */
  get open(): boolean {
    return this.#over === undefined;
  }

  /** Sends commands together and waits for all their replies, `timeoutUs` at most. */
  async ask(commands: readonly RedisCommand[], timeoutUs: number): Promise<RedisExchange> {
    if (this.#over !== undefined) return { kind: 'lost', reason: this.#over };
    const waiting = new Deferred<RedisExchange>();
    this.#waiting = waiting;
    this.#wanted = commands.length;
    this.#replies = [];
    const deadline = this.#io.clock.after(timeoutUs, () => this.#fail('no answer within the deadline'));
    this.#connection.write(Buffer.concat(commands.map(encode)));
    const exchange = await waiting.promise;
    deadline.cancel();
    return exchange;
  }

  /** Closes it; what is unanswered is lost. */
  close(): void {
    this.#fail('closed here');
  }

  #receive(chunk: Uint8Array): void {
    this.#reader.push(chunk);
    try {
      for (let reply = this.#reader.next(); reply !== undefined; reply = this.#reader.next()) {
        this.#replies.push(reply);
      }
    } catch (error) {
      this.#fail(`the answer is malformed: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    if (this.#replies.length >= this.#wanted) this.#settle({ kind: 'answered', replies: this.#replies });
  }

  #fail(reason: string): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#connection.destroy();
    this.#settle({ kind: 'lost', reason });
  }

  #settle(exchange: RedisExchange): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(exchange);
  }
}

function encode(command: RedisCommand): Buffer {
  const words = command.map((word) => Buffer.from(String(word)));
  const parts = words.flatMap((word) => [Buffer.from(`$${word.length}\r\n`), word, Buffer.from('\r\n')]);
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]);
}
