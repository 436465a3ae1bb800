/** A simulated Redis client's connection: sends commands in RESP, one batch at a time. */
import type { Reply } from '../../engine/api/redis/reply-reader.ts';
import { ReplyReader } from '../../engine/api/redis/reply-reader.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Connection } from '../../engine/io/network.ts';
import type { Exchange } from './asking-connection.ts';
import { AskingConnection } from './asking-connection.ts';
import type { ClientPort } from './pb-connection.ts';
import { NotLetIn } from './pb-connection.ts';

/** One command: its name and its arguments. */
export type RedisCommand = readonly (string | number)[];

/** A reply, and when it was there. */
export interface TimedReply {
  readonly reply: Reply;
  readonly atUs: number;
}

/** How one batch ended; answered by one reply to each command. */
export type RedisExchange = Exchange<readonly Reply[]>;

/** One connection in RESP. */
export class RedisConnection {
  readonly #asking: AskingConnection<readonly Reply[]>;
  readonly #reader = new ReplyReader();
  readonly #nowUs: () => number;
  #replies: TimedReply[] = [];
  #wanted = 0;

  /** `nowUs`: the clock of `replies`. */
  constructor(io: Io, connection: Connection, nowUs: () => number = () => io.clock.nowUs()) {
    this.#nowUs = nowUs;
    this.#asking = new AskingConnection(io, connection, (chunk) => this.#take(chunk));
  }

  /** Connects, and authenticates if there is a token. Rejects with `ConnectError`, or with `NotLetIn`. */
  static async open(
    io: Io,
    { address, token }: ClientPort,
    timeoutUs: number,
    nowUs?: () => number,
  ): Promise<RedisConnection> {
    const connection = new RedisConnection(io, await io.network.connect(address, timeoutUs), nowUs);
    if (token === undefined) return connection;
    const exchange = await connection.ask([['AUTH', token]], timeoutUs);
    if (exchange.kind === 'answered' && exchange.answer[0]?.kind === 'text') return connection;
    connection.close();
    throw new NotLetIn();
  }

  /** Whether it can take commands. */
  get open(): boolean {
    return this.#asking.open;
  }

  /** The replies to the last batch so far. */
  get replies(): readonly TimedReply[] {
    return this.#replies;
  }

  /** Sends commands together and waits for all their replies, at most `timeoutUs`. */
  ask(commands: readonly RedisCommand[], timeoutUs: number): Promise<RedisExchange> {
    this.#wanted = commands.length;
    this.#replies = [];
    return this.#asking.ask(Buffer.concat(commands.map(encodeCommand)), timeoutUs);
  }

  /** Closes the connection; an unanswered batch is lost. */
  close(): void {
    this.#asking.close();
  }

  #take(chunk: Uint8Array): readonly Reply[] | undefined {
    this.#reader.push(chunk);
    for (let reply = this.#reader.next(); reply !== undefined; reply = this.#reader.next()) {
      this.#replies.push({ reply, atUs: this.#nowUs() });
    }
    if (this.#replies.length < this.#wanted) return undefined;
    return this.#replies.map(({ reply }) => reply);
  }
}

/** The command in RESP. */
export function encodeCommand(command: RedisCommand): Buffer {
  const words = command.map((word) => Buffer.from(String(word)));
  const parts = words.flatMap((word) => [Buffer.from(`$${word.length}\r\n`), word, Buffer.from('\r\n')]);
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]);
}
