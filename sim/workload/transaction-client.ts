/**
 * A simulated client of transactions: reads at the primaries, writes on condition that nothing has changed, and records
 * the history. While the outcome is unknown, it retries a transaction with an idempotency key through another node; it
 * never sends others twice.
 */
import { errorTable } from '../../engine/base/errors.ts';
import { quorumNames } from '../../engine/api/pbc/schema.ts';
import type { RpbGetResp } from '../../engine/api/pbc/object-messages.ts';
import type { LockOperation, LockTransactionReq } from '../../engine/api/pbc/transaction-messages.ts';
import { present } from '../../engine/base/assert.ts';
import { bufferOf } from '../../engine/base/ids.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import { pick } from '../../engine/io/random.ts';
import type { SeenKey, TransactionValue, WrittenKey } from '../evidence/transactions.ts';
import { elementsOf } from '../evidence/transactions.ts';
import type { PlanTransaction } from '../plan/plan-transactions.ts';
import { bunchPartOf } from '../plan/plan-transactions.ts';
import type { ClientTarget } from './client.ts';
import type { DurableTags } from './durable-tags.ts';
import { Impatience } from './impatient-client.ts';
import type { PbExchange } from './pb-connection.ts';
import { PbConnection } from './pb-connection.ts';
import type { RequestTimes } from './request-times.ts';
import { Retries } from './retries.ts';
import type { TransactionKey, TransactionKeys } from './transaction-keys.ts';
import type { OpenTransaction, TransactionRecorder } from './transaction-recorder.ts';

/** What a transaction client needs. */
export interface TransactionClientSetup {
  readonly name: string;
  readonly io: Io;
  readonly targets: readonly ClientTarget[];
  readonly keys: TransactionKeys;
  readonly recorder: TransactionRecorder;
  readonly durable: DurableTags;
  readonly datacenterOf: (node: string) => string;
  readonly nowUs: () => number;
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
  /** How long the nodes may take for its requests. */
  readonly times: RequestTimes;
}

/** The balance of an account that nothing has written yet. */
export const firstBalance = 100;

/** How often a transaction with an idempotency key is sent at most; below, the wait in between. */
export const attemptsMax = 4;
const retryUs = 150_000;

/** A read, with what a write that is conditional on it must carry. */
interface Seen extends SeenKey {
  readonly where: TransactionKey;
  readonly context: Uint8Array | undefined;
}

interface Wanted {
  readonly where: TransactionKey;
  readonly value: TransactionValue | undefined;
  readonly seen: Seen | undefined;
}

/** One simulated transaction client. */
export class TransactionClient {
  readonly impatience: Impatience;
  readonly #setup: TransactionClientSetup;
  readonly #connections = new Map<string, PbConnection>();
  readonly #retries: Retries;

  constructor(setup: TransactionClientSetup) {
    this.#setup = setup;
    this.#retries = new Retries(setup);
    this.impatience = new Impatience(setup.io.clock, (count) => this.#retries.repeat(count));
  }

  /** Runs `transactions` in order until `stopped` returns true or none is left. */
  async work(transactions: readonly PlanTransaction[], stopped: () => boolean): Promise<void> {
    for (const transaction of transactions) {
      await sleep(this.#setup.io.clock, transaction.thinkUs);
      if (stopped()) break;
      await this.#perform(transaction);
    }
    this.close();
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  /** Runs one transaction over a key of every primary, through `node`; true if it has committed. */
  async probe(node: string): Promise<boolean> {
    const record = this.#open({ id: '', kind: 'probe', forced: false });
    record.final = true;
    const wanted = this.#setup.keys.probes.map((where) => this.#stamp(record, where, 0));
    await this.#run(record, wanted, { forced: false, named: false, level: 'DC_QUORUM' }, node);
    return record.outcome === 'ok';
  }

  /**
   * Reads a key after the calm: at its primary, which knows what transactions have done (a branch reported as pending
   * may not have reached a quorum yet); or at a quorum if the primary is lost for good.
   */
  async readFinally(where: TransactionKey, lost: readonly string[]): Promise<boolean> {
    const record = this.#open({ id: '', kind: 'look', forced: false });
    record.final = true;
    const { targets, io } = this.#setup;
    const need = lost.includes(where.primary) ? quorumNames.quorum : quorumNames.primary;
    const seen = await this.#read(where, pick(io.random, targets).node, need);
    this.#saw(record, seen);
    return seen !== undefined;
  }

  /** Sends `node` a request that is not a transaction. */
  ask(node: string, request: Parameters<PbConnection['ask']>[0]): Promise<PbExchange> {
    return this.#ask(node, request);
  }

  async #perform(planned: PlanTransaction): Promise<void> {
    const { keys } = this.#setup;
    const { places } = planned;
    switch (planned.kind) {
      case 'look':
        for (const place of places) await this.#look(planned, present(keys.lists[place], 'a list'));
        return;
      case 'append':
        return this.#append(
          planned,
          places.map((place) => present(keys.lists[place], 'a list')),
        );
      case 'twin':
        return this.#append(planned, present(keys.twins[places[0] ?? 0], 'a pair'));
      case 'transfer':
        return this.#transfer(
          planned,
          places.map((place) => present(keys.accounts[place], 'an account')),
        );
      case 'stamp':
      case 'erase':
        return this.#write(planned, present(keys.triples[places[0] ?? 0], 'a triple'));
      case 'move':
        return this.#move(
          planned,
          places.map((place) => present(keys.loners[place], 'a single key')),
        );
      case 'restamp':
        return this.#restamp(planned, present(keys.triples[places[0] ?? 0], 'a triple'));
      case 'bunch': {
        const bunch = present(keys.bunches[places[0] ?? 0], 'a bunch');
        const part = bunchPartOf(planned.amount).map((at) => present(bunch[at], 'a key of the bunch'));
        return this.#write(planned, part, planned.amount % 2 === 1 ? part[0]?.primary : undefined);
      }
      case 'put': {
        const loner = present(keys.loners[places[0] ?? 0], 'a single key');
        // Half of the puts go to a random node, which forwards them to the primary.
        return this.#write(planned, [loner], planned.amount === 1 ? loner.primary : undefined);
      }
    }
  }

  async #look(planned: PlanTransaction, where: TransactionKey): Promise<void> {
    const record = this.#open(planned);
    this.#saw(record, await this.#read(where, where.primary, quorumNames.primary));
  }

  #saw(record: OpenTransaction, seen: Seen | undefined): void {
    record.node = seen?.where.primary ?? '';
    record.validated = true;
    record.reads = seen === undefined ? [] : [{ key: seen.key, value: seen.value }];
    this.#close(record, seen === undefined ? 'fail' : 'ok', seen === undefined ? 'it could not be read' : '');
  }

  async #append(planned: PlanTransaction, lists: readonly TransactionKey[]): Promise<void> {
    const record = this.#open(planned);
    const seen = await this.#readAll(record, lists);
    if (seen === undefined) return;
    // `append` may add two numbers, so that an intermediate state exists that a reader could see.
    const elements = elementsOf(record.id, planned.kind === 'append' ? planned.amount : 1);
    const wanted = seen.map((one, index) => {
      const list = [...(one.value?.list ?? []), ...elements];
      return { where: one.where, seen: one, value: { tag: tagOf(record, index), balance: undefined, list } };
    });
    await this.#run(record, wanted, planned);
  }

  async #transfer(planned: PlanTransaction, accounts: readonly TransactionKey[]): Promise<void> {
    const record = this.#open(planned);
    const seen = await this.#readAll(record, accounts);
    if (seen === undefined) return;
    const wanted = seen.map((one, index) => {
      const change = index === 0 ? -planned.amount : planned.amount;
      const balance = (one.value?.balance ?? firstBalance) + change;
      return { where: one.where, seen: one, value: { tag: tagOf(record, index), balance, list: undefined } };
    });
    await this.#run(record, wanted, planned);
  }

  async #write(planned: PlanTransaction, keys: readonly TransactionKey[], node?: string): Promise<void> {
    const record = this.#open(planned);
    const wanted = keys.map((where, index) =>
      planned.kind === 'erase'
        ? { where, seen: undefined, value: undefined }
        : this.#stamp(record, where, index),
    );
    await this.#run(record, wanted, planned, node);
  }

  async #restamp(planned: PlanTransaction, triple: readonly TransactionKey[]): Promise<void> {
    const record = this.#open(planned);
    const seen = await this.#readAll(record, triple);
    if (seen === undefined) return;
    const wanted = seen.map((one, index) => ({ ...this.#stamp(record, one.where, index), seen: one }));
    await this.#run(record, wanted, planned);
  }

  async #move(planned: PlanTransaction, loners: readonly TransactionKey[]): Promise<void> {
    const record = this.#open(planned);
    const wanted = loners.map((where, index) =>
      index === 0 ? { where, seen: undefined, value: undefined } : this.#stamp(record, where, index),
    );
    await this.#run(record, wanted, planned);
  }

  #stamp(record: OpenTransaction, where: TransactionKey, index: number): Wanted {
    const value = { tag: tagOf(record, index), balance: undefined, list: undefined };
    return { where, seen: undefined, value };
  }

  /** Reads all keys at their primaries. If one cannot be read, closes the record and returns undefined. */
  async #readAll(
    record: OpenTransaction,
    keys: readonly TransactionKey[],
  ): Promise<readonly Seen[] | undefined> {
    const seen: Seen[] = [];
    for (const where of keys) {
      const one = await this.#read(where, where.primary, quorumNames.primary);
      if (one === undefined) {
        this.#close(record, 'fail', `${where.name} could not be read`);
        return undefined;
      }
      seen.push(one);
    }
    record.reads = seen.map(({ key, value }) => ({ key, value }));
    record.validated = true;
    return seen;
  }

  async #read(where: TransactionKey, node: string, quorum: number): Promise<Seen | undefined> {
    const { type, bucket, key } = where.place;
    const message = { type, bucket, key, r: quorum, timeout: this.#setup.times.nextMs() };
    const exchange = await this.#ask(node, { kind: 'get', message });
    if (exchange.kind !== 'answered' || exchange.answer.kind !== 'got') return undefined;
    return { ...this.#seenIn(exchange.answer.message), key: where.name, where };
  }

  #seenIn({ content, vclock }: RpbGetResp): Pick<Seen, 'value' | 'context'> {
    const [first] = content ?? [];
    if (first === undefined) return { value: undefined, context: undefined };
    const context = vclock === undefined ? undefined : new Uint8Array(vclock);
    return { value: parseValue(first.value), context };
  }

  async #run(
    record: OpenTransaction,
    wanted: readonly Wanted[],
    planned: Pick<PlanTransaction, 'forced' | 'named' | 'level'>,
    node?: string,
  ): Promise<void> {
    record.writes = wanted.map(({ where, value }) => ({ key: where.name, value, durableCopies: undefined }));
    record.need =
      planned.level === 'DC_ONE'
        ? 1
        : Math.min(...wanted.flatMap(({ where }) => [...where.majorities.values()]));
    const asked = new Set<string>();
    record.clientId = planned.named ? `${this.#setup.name}/${record.id}` : '';
    const message: LockTransactionReq = {
      operations: wanted.map(operationOf),
      consistency: Buffer.from(planned.level),
      timeout: this.#setup.times.nextMs(),
      ...(planned.forced ? { force_abort: true } : {}),
      ...(record.clientId === '' ? {} : { id: Buffer.from(record.clientId) }),
    };
    if (planned.named) this.#retries.keep(record, message);
    for (let attempt = 0; attempt < (planned.named ? attemptsMax : 1); attempt++) {
      if (attempt > 0 && !this.impatience.takeHurry()) await sleep(this.#setup.io.clock, retryUs);
      const { targets, io } = this.#setup;
      record.node = node ?? pick(io.random, targets).node;
      asked.add(this.#setup.datacenterOf(record.node));
      const mayRepeat = planned.named && attempt + 1 < attemptsMax;
      const exchange = await this.#ask(record.node, { kind: 'transaction', message }, mayRepeat);
      this.#hear(record, exchange, attempt > 0);
      // A retry through another datacenter is told of a level that was counted in the first one.
      if (record.outcome === 'ok' && asked.size === 1)
        this.#countCopies(record, wanted, planned.level, unconfirmedIn(exchange));
      if (record.outcome !== 'unknown') return;
    }
  }

  /**
   * `again`: an earlier attempt may have been carried out, so an error of this attempt says nothing about the
   * transaction.
   */
  #hear(record: OpenTransaction, exchange: PbExchange, again: boolean): void {
    const certainly = again ? 'unknown' : 'fail';
    if (exchange.kind === 'lost') {
      this.#close(record, exchange === neverSent ? certainly : 'unknown', exchange.reason);
      return;
    }
    const { answer: reply } = exchange;
    if (reply.kind === 'failed') {
      const definite = reply.code !== undefined && errorTable[reply.code].definite;
      this.#close(record, definite ? certainly : 'unknown', reply.text);
      return;
    }
    if (reply.kind !== 'transacted') {
      this.#close(record, 'unknown', `an answer of kind ${reply.kind}`);
      return;
    }
    const { outcome: word, transaction_id: xid, reason, detail } = reply.message;
    const outcome = textOf(word);
    record.xids = [...record.xids, `${textOf(xid)} ${outcome}`];
    if (outcome === 'committed') this.#close(record, 'ok', '');
    else if (outcome === 'aborted')
      // Under an idempotency key an abort is final for every attempt.
      this.#close(record, 'fail', `${textOf(reason)}: ${textOf(detail)}`);
    else this.#close(record, 'unknown', outcome);
  }

  /** Counts what is durable now of what the answer promises; `unconfirmed` branches promise it for later. */
  #countCopies(
    record: OpenTransaction,
    wanted: readonly Wanted[],
    level: PlanTransaction['level'],
    unconfirmed: readonly string[],
  ): void {
    record.writes = record.writes.map((write, index): WrittenKey => {
      const { where } = present(wanted[index], 'what was wanted');
      const promised = level === 'DC_ONE' || !where.primaries.some((node) => unconfirmed.includes(node));
      const { value } = write;
      if (value === undefined || !promised || unconfirmed.includes(anyBranch)) return write;
      const counted = this.#countedIn(level, record.node, where).map(({ nodes, owed }) => ({
        durableCopies: this.#setup.durable.copies(value.tag, nodes),
        owed,
      }));
      const lackOf = (one: { readonly durableCopies: number; readonly owed: number }): number =>
        one.owed - one.durableCopies;
      return { ...write, ...counted.reduce((most, one) => (lackOf(one) > lackOf(most) ? one : most)) };
    });
  }

  /**
   * The groups of nodes each of which must hold the copies that the level names, and how many: those of the datacenter
   * of the node that was asked, or of every datacenter. DC_ONE counts them together.
   */
  #countedIn(
    level: PlanTransaction['level'],
    node: string,
    { keepers, majorities }: TransactionKey,
  ): readonly { readonly nodes: readonly string[]; readonly owed: number }[] {
    const { datacenterOf } = this.#setup;
    if (level === 'DC_ONE') return [{ nodes: keepers, owed: 1 }];
    const named = level === 'DC_QUORUM' ? [datacenterOf(node)] : [...majorities.keys()];
    return named.map((datacenter) => ({
      nodes: keepers.filter((keeper) => datacenterOf(keeper) === datacenter),
      owed: majorities.get(datacenter) ?? 0,
    }));
  }

  async #ask(
    node: string,
    request: Parameters<PbConnection['ask']>[0],
    mayRepeat = false,
  ): Promise<PbExchange> {
    const { io, targets, connectTimeoutUs, answerTimeoutUs } = this.#setup;
    let connection = this.#connections.get(node);
    if (connection?.open !== true) {
      const target = targets.find((one) => one.node === node);
      if (target === undefined) return neverSent;
      try {
        connection = await PbConnection.open(io, target, connectTimeoutUs);
      } catch {
        // The node refuses or is silent: nothing was sent.
        return neverSent;
      }
      this.#connections.set(node, connection);
    }
    return this.impatience.over(connection, connection.ask(request, answerTimeoutUs), mayRepeat);
  }

  #open({
    id,
    kind,
    forced,
  }: Pick<PlanTransaction, 'id' | 'forced'> & { kind: OpenTransaction['kind'] }): OpenTransaction {
    const { recorder, name, nowUs } = this.#setup;
    return recorder.open({ planned: id, client: name, kind, forced, invokedUs: nowUs() });
  }

  #close(record: OpenTransaction, outcome: OpenTransaction['outcome'], reason: string): void {
    record.outcome = outcome;
    record.reason = reason;
    record.completedUs = this.#setup.nowUs();
  }
}

const neverSent: PbExchange = { kind: 'lost', reason: 'no connection could be made' };

function tagOf({ id, client }: OpenTransaction, index: number): string {
  return `«w:${client}:t${id}.${index}»`;
}

/** Instead of a node's name: no branch is known to have confirmed. */
const anyBranch = '*';

/** Nodes whose branches had not confirmed their level when the answer came. */
function unconfirmedIn(exchange: PbExchange): readonly string[] {
  if (exchange.kind === 'lost' || exchange.answer.kind !== 'transacted') return [];
  const { branches = [] } = exchange.answer.message;
  // The answer to a retry names no branches: it only says that the first attempt is decided.
  if (branches.length === 0) return [anyBranch];
  return branches.filter(({ pending }) => pending === true).map(({ node }) => textOf(node));
}

function operationOf({ where, value, seen }: Wanted): LockOperation {
  const { type, bucket, key } = where.place;
  const condition =
    seen === undefined
      ? {}
      : seen.context === undefined
        ? { if_absent: true }
        : { if_match: seen.context, vclock: seen.context };
  if (value === undefined) return { type, bucket, key, delete: true };
  return { type, bucket, key, content: { value: formatValue(value) }, ...condition };
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : bufferOf(bytes).toString('utf8');
}

const form = /^(«w:[^»]*») ?(-?\d+)?(\[[\d,]*\])?$/;

/** The bytes of a value. */
export function formatValue({ tag, balance, list }: TransactionValue): Buffer {
  if (balance !== undefined) return Buffer.from(`${tag} ${balance}`);
  return Buffer.from(list === undefined ? tag : `${tag} [${list.join(',')}]`);
}

/** The value in `bytes`. Bytes that no transaction wrote give a value whose tag says so. */
export function parseValue(bytes: Uint8Array): TransactionValue {
  const text = Buffer.from(bytes).toString('utf8');
  const [, tag, balance, list] = form.exec(text) ?? [];
  if (tag === undefined) return { tag: `(no value of ours: ${text})`, balance: undefined, list: undefined };
  return {
    tag,
    balance: balance === undefined ? undefined : Number(balance),
    list: list === undefined ? undefined : numbersIn(list),
  };
}

function numbersIn(list: string): readonly number[] {
  const inner = list.slice(1, -1);
  return inner === '' ? [] : inner.split(',').map(Number);
}
