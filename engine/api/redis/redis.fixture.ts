/** The Redis listener over a dispatcher and transactions with maps, and a client that sends raw bytes. */
import type { Credential } from '../../auth/credentials.ts';
import { Gate } from '../../auth/gate.ts';
import { RequestBudget } from '../session/request-budget.ts';
import type { Token } from '../../base/ids.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType } from '../../base/object-key.ts';
import { LockstepError } from '../../base/errors.ts';
import { compareVectors } from '../../replica/object/dots.ts';
import { liveSiblings } from '../../replica/object/object.ts';
import type {
  AbortReason,
  Operation,
  TransactionOutcome,
  TransactionRequest,
} from '../../transactions/formats/outcomes.ts';
import { makeXid } from '../../transactions/formats/xid.fixture.ts';
import { parseNodeId } from '../../base/ids.ts';
import { present } from '../../base/assert.ts';
import { defaultContentLimits } from '../content-limits.ts';
import { MapDispatcher, replicaCount } from '../testing/map-dispatcher.fixture.ts';
import { TallyingObserver } from '../testing/tallying-observer.fixture.ts';
import { TestingNetwork, TestingPeer } from '../testing/connection-pair.fixture.ts';
import { CountingRandom, TestClock, TestLog } from '../testing/test-io.fixture.ts';
import type { RedisField } from './commands.ts';
import type { ListedKey, ListedKeys } from './keyspace.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import type { RedisLimits } from './server.ts';
import { Publications } from './messages/publications.ts';
import { RedisServer } from './server.ts';
import { Scripts } from './script/scripts.ts';
import { defaultSessionLimits } from './session-dependencies.ts';

/** Transactions over a `MapDispatcher`: one at a time, all or nothing. */
export class MapTransactions {
  readonly requests: TransactionRequest[] = [];
  /** Outcomes of the next transactions, oldest first. */
  readonly outcomes: ('inDoubt' | AbortReason)[] = [];
  readonly #dispatcher: MapDispatcher;
  #counter = 0;

  constructor(dispatcher: MapDispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** Runs a transaction, or gives the next scripted outcome. */
  async run(request: TransactionRequest): Promise<TransactionOutcome> {
    this.requests.push(request);
    const xid = makeXid(present(parseNodeId('n1'), 'a name'), '0123456789ab', ++this.#counter);
    const told = this.outcomes.shift();
    if (told === 'inDoubt') return { kind: 'inDoubt', xid };
    const reason =
      told ?? (request.operations.every((one) => this.#holds(one)) ? undefined : 'precondition_failed');
    if (reason !== undefined) return { kind: 'aborted', xid, reason, detail: 'n1: told so' };
    for (const { key, content, context = [], check } of request.operations) {
      if (check !== true) await this.#dispatcher.put({ key, need: 'default', context, content });
    }
    return { kind: 'committed', xid, operationCount: request.operations.length, branches: [] };
  }

  #holds({ key, ifMatch, ifAbsent }: Operation): boolean {
    const object = this.#dispatcher.stored(key.packed);
    if (ifAbsent && object !== undefined && liveSiblings(object).length > 0) return false;
    return ifMatch === undefined || compareVectors(object?.context ?? [], ifMatch) === 'equal';
  }
}

/** A Redis client under a test's control; it returns replies as text. */
export class RedisPeer extends TestingPeer<string> {
  /** Sends one command in RESP and returns the replies. */
  ask(...request: readonly (string | Buffer)[]): Promise<string> {
    return this.send(encodeRequest(request));
  }

  protected override heard(bytes: Buffer): string {
    return bytes.toString('latin1');
  }
}

/** A listener with everything that it works with. */
export class TestingRedis {
  readonly dispatcher = new MapDispatcher();
  readonly transactions = new MapTransactions(this.dispatcher);
  readonly observer = new TallyingObserver();
  readonly clock = new TestClock();
  readonly counts = new Map<RedisField, number>();
  readonly failed: string[] = [];
  /** Whether the cluster can flush buckets in one step, and those that it has flushed. */
  hasEpochs = true;
  readonly flushed: ByteString[] = [];
  /** Whether a plain SET may replace what its key holds. */
  mayReplace = true;
  readonly graceUs = 60_000_000;
  /** The keys that a listing of the cluster returns. */
  listed: readonly ListedKey[] = [];
  readonly gate: Gate;
  /** The smallest budget: large requests take turns. */
  readonly requests = new RequestBudget(256 * 1024);
  readonly publications: Publications;
  readonly server: RedisServer;
  readonly #network = new TestingNetwork((highWaterBytes) => new RedisPeer(highWaterBytes));

  private constructor(limits: Partial<RedisLimits>, credentials: readonly Credential[] | undefined) {
    const log = new TestLog();
    this.gate = new Gate({ log, clock: this.clock }, credentials);
    const io: RedisDependencies['io'] = {
      clock: this.clock,
      log,
      network: this.#network,
      random: new CountingRandom(),
      spawn: (name, task) => {
        task().catch(() => this.failed.push(name));
      },
    };
    this.publications = new Publications({
      io,
      links: { request: () => 'closed' },
      peers: () => [],
      generation: () => 1,
      answerBytesMax: 30_000,
      pageItems: 1000,
    });
    const parts: RedisDependencies = {
      io,
      dispatcher: this.dispatcher,
      transactions: this.transactions,
      observer: this.observer,
      gate: this.gate,
      requests: this.requests,
      count: (field) => this.counts.set(field, (this.counts.get(field) ?? 0) + 1),
      terms: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', replicaCount: () => replicaCount },
      limits: { ...defaultContentLimits, valueBytesMax: 10_000 },
      beginEpochs: async (type, buckets) => {
        if (type !== defaultType || !this.hasEpochs) return false;
        this.flushed.push(...buckets);
        return true;
      },
      epochOf: () => this.flushed.length,
      graceUs: this.graceUs,
      mayReplace: () => this.mayReplace,
      type: defaultType,
      bucket: byteStringOf('redis'),
      timeoutMs: 5000,
      answerBytesMax: 30_000,
      keyCountMax: 100,
      subscribersOf: (message) => this.publications.subscriptions.reachOf(message),
      scripts: new Scripts(log, { stepsMax: 100_000, bytesMax: 1_000_000, depthMax: 50 }),
      serverInfo: { node: 'n1', version: '0.1.0' },
    };
    const list = (from: number): AsyncIterable<ListedKeys> => this.#pages(from);
    this.server = new RedisServer(
      parts,
      {
        ...defaultSessionLimits,
        argumentBytesMax: 20_000,
        requestBytesMax: 40_000,
        inFlightMax: 64,
        messageUsMax: 60_000_000,
        takingUsMax: 30_000_000,
        connectionCountMax: 3,
        subscriberBytesMax: 20_000,
        ...limits,
      },
      () => list,
      this.publications,
      () => undefined,
    );
  }

  /** Starts a listener with small limits; without credentials everyone has access. */
  static async start(
    limits: Partial<RedisLimits> = {},
    credentials?: readonly Credential[],
  ): Promise<TestingRedis> {
    const testing = new TestingRedis(limits, credentials);
    await testing.server.start('server:6379');
    return testing;
  }

  /** Connects a client. */
  join(): RedisPeer {
    return this.#network.join();
  }

  async *#pages(from: number): AsyncGenerator<ListedKeys, void, undefined> {
    const later = this.listed.filter(({ token }) => token >= from);
    for (let at = 0; at < later.length; at += 3) {
      const names = later.slice(at, at + 3);
      yield { names, reached: (names.at(-1)?.token ?? 0) as Token };
    }
  }
}

/** One command as a RESP array of bulk strings. */
export function encodeRequest(request: readonly (string | Buffer)[]): Buffer {
  const parts = request.flatMap((one) => {
    const bytes = Buffer.from(one);
    return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')];
  });
  return Buffer.concat([Buffer.from(`*${request.length}\r\n`), ...parts]);
}

/** An error for tests to inject. */
export function noQuorum(): LockstepError {
  return new LockstepError('NoQuorum', 'too few');
}
