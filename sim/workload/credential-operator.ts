/**
 * An operator who changes one credential at one node while its client is connected, as `kill -HUP` does after a change of
 * the file: removes it in favour of another token, limits it to other buckets, or takes its role. The client's next
 * requests, on its open connections and on new ones, must be refused. A client of another credential must notice nothing.
 * When the fault is over the operator puts the credential back, and its client connects as before.
 */
import type { Reply } from '../../engine/api/redis/reply-reader.ts';
import type { Credential } from '../../engine/auth/credentials.ts';
import { digestOf } from '../../engine/auth/credentials.ts';
import type { Io } from '../../engine/io/io.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { CredentialAnswer, CredentialChange } from '../evidence/credential-changes.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import {
  limitedRules,
  rotatedTokens,
  worldCredentials,
  worldTokens,
} from '../world/cluster/world-credentials.ts';
import type { World } from '../world/world.ts';
import { NotLetIn, PbConnection } from './pb-connection.ts';
import { RedisConnection } from './redis-connection.ts';

const timeoutUs = 3_000_000;
const bucket = Buffer.from('rotated');
const channel = 'rotated';
/** By then a message that is on its way has arrived, in microseconds. */
const arrivalUs = 100_000;

type Protocol = 'pb' | 'redis';
const protocols: readonly Protocol[] = ['pb', 'redis'];

/** What the operator works with. */
export interface CredentialOperatorContext {
  readonly world: World;
  readonly cluster: Cluster;
}

/** One client's connection, which asks for one small write at a time. */
interface Asking {
  /** What the node answered: `done`, or the code of its error; undefined without an answer. */
  ask(): Promise<string | undefined>;
  close(): void;
}

/** One connection of a client, and what it was opened for. */
interface Held {
  readonly protocol: Protocol;
  readonly life: number;
  readonly rotated: Asking | undefined;
  readonly kept: Asking | undefined;
}

/** The operator of one run and its clients. */
export class CredentialOperator {
  readonly answers: CredentialAnswer[] = [];
  readonly #context: CredentialOperatorContext;
  /** Nodes with a change under way. */
  readonly #changing = new Set<string>();

  constructor(context: CredentialOperatorContext) {
    this.#context = context;
  }

  /** Whether a change may begin at the node. */
  isFree(node: string): boolean {
    const { cluster } = this.#context;
    const isGuarded = cluster.configOf(node).credentials !== undefined;
    return isGuarded && cluster.serves(node) && !cluster.host(node).paused && !this.#changing.has(node);
  }

  /** Makes the change, and takes it back after `forUs`. */
  async change(id: string, node: string, change: CredentialChange, forUs: number, io: Io): Promise<void> {
    const { cluster } = this.#context;
    this.#changing.add(node);
    const held: Held[] = [];
    for (const protocol of protocols) held.push(await this.#hold(protocol, node, io));
    for (const one of held) {
      const on = `${id}: ${one.protocol}, open connection`;
      await this.#note(node, one.life, `${on}, before the change`, 'allowed', one.rotated);
    }
    const subscriber = await this.#subscriber(node, io);
    const begun = cluster.replaceCredentials(node, changed(change));
    if (begun) {
      await this.#publish(`${id}: redis subscriber, credential ${change}`, node, subscriber, io);
      for (const one of held) await this.#lookAfter(id, node, change, one, io);
      await sleep(io.clock, forUs);
      while (cluster.members.includes(node) && !cluster.replaceCredentials(node, worldCredentials))
        await sleep(io.clock, forUs);
      for (const protocol of protocols)
        await this.#tryToken(
          `${id}: ${protocol}, put back`,
          node,
          rotatedTokens.first,
          protocol,
          'allowed',
          io,
        );
    }
    subscriber?.close();
    for (const { rotated, kept } of held) [rotated, kept].forEach((one) => one?.close());
    this.#changing.delete(node);
  }

  async #lookAfter(id: string, node: string, change: CredentialChange, held: Held, io: Io): Promise<void> {
    const { protocol, life, rotated, kept } = held;
    const on = `${id}: ${protocol}, credential ${change}`;
    await this.#note(node, life, `${on}, open connection`, 'refused', rotated);
    await this.#note(node, life, `${on}, open connection of another credential`, 'kept', kept);
    await this.#tryToken(`${on}, new connection`, node, rotatedTokens.first, protocol, 'refused', io);
    if (change === 'removed')
      await this.#tryToken(`${on}, its successor`, node, rotatedTokens.second, protocol, 'allowed', io);
  }

  async #subscriber(node: string, io: Io): Promise<RedisConnection | undefined> {
    const port = { address: this.#context.cluster.address(node, 'redis'), token: rotatedTokens.first };
    try {
      const connection = await RedisConnection.open(io, port, timeoutUs);
      const exchange = await connection.ask([['SUBSCRIBE', channel]], timeoutUs);
      if (exchange.kind === 'answered') return connection;
      connection.close();
    } catch {
      // The node is down, or too slow: nothing is subscribed to.
    }
    return undefined;
  }

  /** A client of another credential publishes: the subscriber, whose credential is no longer sufficient, hears nothing. */
  async #publish(
    asked: string,
    node: string,
    subscriber: RedisConnection | undefined,
    io: Io,
  ): Promise<void> {
    const { lives: life } = this.#context.cluster.host(node);
    const port = { address: this.#context.cluster.address(node, 'redis'), token: worldTokens.write };
    let isPublished = false;
    try {
      const connection = await RedisConnection.open(io, port, timeoutUs);
      const exchange = await connection.ask([['PUBLISH', channel, asked]], timeoutUs);
      isPublished = exchange.kind === 'answered' && exchange.answer[0]?.kind === 'integer';
      connection.close();
    } catch {
      // Nothing is published.
    }
    if (subscriber === undefined || !isPublished) return;
    await sleep(io.clock, arrivalUs);
    // What was published elsewhere, before this node's change, the subscriber may hear.
    const isHeard = subscriber.replies.some(({ reply }) => isMessage(reply, asked));
    const heard = isHeard ? 'message' : 'silence';
    this.#add(node, life, asked, 'silence', heard);
  }

  async #hold(protocol: Protocol, node: string, io: Io): Promise<Held> {
    const { lives: life } = this.#context.cluster.host(node);
    const rotated = await this.#open(protocol, node, rotatedTokens.first, io);
    const kept = await this.#open(protocol, node, worldTokens.write, io);
    return {
      ...{ protocol, life },
      rotated: typeof rotated === 'string' ? undefined : rotated,
      kept: typeof kept === 'string' ? undefined : kept,
    };
  }

  async #tryToken(
    asked: string,
    node: string,
    token: string,
    protocol: Protocol,
    expected: CredentialAnswer['expected'],
    io: Io,
  ): Promise<void> {
    const { lives: life } = this.#context.cluster.host(node);
    const opened = await this.#open(protocol, node, token, io);
    if (typeof opened !== 'string') {
      await this.#note(node, life, asked, expected, opened);
      opened?.close();
    } else this.#add(node, life, asked, expected, opened);
  }

  async #note(
    node: string,
    life: number,
    asked: string,
    expected: CredentialAnswer['expected'],
    asking: Asking | undefined,
  ): Promise<void> {
    if (asking === undefined) return;
    this.#add(node, life, asked, expected, await asking.ask());
  }

  #add(
    node: string,
    life: number,
    asked: string,
    expected: CredentialAnswer['expected'],
    answered: string | undefined,
  ): void {
    const { world, cluster } = this.#context;
    const lived = cluster.serves(node) && cluster.host(node).lives === life;
    this.answers.push({ node, atUs: world.nowUs, asked, expected, answered, lived });
  }

  /** The refusal's code if the node does not let the client in; undefined if there is no connection. */
  async #open(
    protocol: Protocol,
    node: string,
    token: string,
    io: Io,
  ): Promise<Asking | 'Unauthorized' | undefined> {
    const port = { address: this.#context.cluster.address(node, protocol), token };
    try {
      return protocol === 'pb'
        ? pbAsking(await PbConnection.open(io, port, timeoutUs))
        : redisAsking(await RedisConnection.open(io, port, timeoutUs));
    } catch (error) {
      return error instanceof NotLetIn ? 'Unauthorized' : undefined;
    }
  }
}

function isMessage(reply: Reply, text: string): boolean {
  const last = reply.kind === 'array' ? reply.items.at(-1) : undefined;
  return last?.kind === 'bulk' && last.bytes.toString() === text;
}

function pbAsking(connection: PbConnection): Asking {
  const message = { bucket, key: Buffer.from('k'), content: { value: Buffer.from('rotated') } };
  return {
    ask: async () => {
      const exchange = await connection.ask({ kind: 'put', message }, timeoutUs);
      if (exchange.kind === 'lost') return undefined;
      return exchange.answer.kind === 'failed' ? (exchange.answer.code ?? exchange.answer.text) : 'done';
    },
    close: () => connection.close(),
  };
}

function redisAsking(connection: RedisConnection): Asking {
  return {
    ask: async () => {
      const exchange = await connection.ask([['SET', 'rotated', 'rotated']], timeoutUs);
      const reply = exchange.kind === 'lost' ? undefined : exchange.answer[0];
      if (reply === undefined) return undefined;
      return reply.kind === 'error' ? (reply.text.split(' ')[0] ?? '') : 'done';
    },
    close: () => connection.close(),
  };
}

/** The file with the change. */
function changed(change: CredentialChange): readonly Credential[] {
  return worldCredentials.map((one): Credential => {
    if (one.name !== 'rotated') return one;
    if (change === 'removed') return { ...one, digest: digestOf(rotatedTokens.second) };
    if (change === 'demoted') return { ...one, role: 'read' };
    return { ...one, buckets: limitedRules };
  });
}
