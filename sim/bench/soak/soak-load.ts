/**
 * The clients of a soak: reads and writes of single keys with siblings, and transactions that append to two lists each.
 * What they did and were told becomes a history in the simulator's form, for its own checks. After each period the
 * clients go on with other keys and lists: lists, and the work of checking them, would grow with the square of the time.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Operation, Outcome, ReadOperation } from '../../evidence/history.ts';
import type { SeenKey, TransactionRecord } from '../../evidence/transactions.ts';
import { elementsOf } from '../../evidence/transactions.ts';
import type { SoakNode } from './soak-nodes.ts';
import { siblingType } from './soak-nodes.ts';

const keyCount = 40;
const listCount = 8;
const racks = 3;
const majority = 2;
const answerMsMax = 12_000;
const pauseMs = 15;
const periodUs = 30_000_000;

/** What one incarnation of a node was asked, and answered. */
export interface Asked {
  reads: number;
  writes: number;
  /** Requests whose answer did not arrive whole. */
  lost: number;
}

/** An answer; undefined status: none arrived. */
interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly vclock: string | undefined;
}

/** A list as a client saw it, and the context to write it under. */
interface SeenList {
  readonly seen: SeenKey;
  readonly vclock: string | undefined;
}

/** The load, and the history that it leaves. */
export class SoakLoad {
  /** Undefined while an operation is under way. */
  readonly operations: (Operation | undefined)[] = [];
  readonly transactions: TransactionRecord[] = [];
  /** By node and incarnation: `n1 3`. */
  readonly asked = new Map<string, Asked>();
  readonly #nodes: () => readonly SoakNode[];
  readonly #startUs = process.hrtime.bigint();
  readonly #pick: (below: number) => number;
  #stopping = false;

  /** `nodes`: those that serve clients now. `pick`: a random whole number below its argument. */
  constructor(nodes: () => readonly SoakNode[], pick: (below: number) => number) {
    this.#nodes = nodes;
    this.#pick = pick;
  }

  /** Runs clients until `stop`. */
  async run(objectClients: number, transactionClients: number): Promise<void> {
    await Promise.all([
      ...Array.from({ length: objectClients }, (_, index) => this.#objects(`c${index + 1}`)),
      ...Array.from({ length: transactionClients }, (_, index) => this.#appends(`x${index + 1}`)),
    ]);
  }

  /** The clients end after the request under way. */
  stop(): void {
    this.#stopping = true;
  }

  /** Reads every key in each datacenter, and every list at its primary, after all faults. */
  async readAll(nodes: readonly SoakNode[]): Promise<void> {
    for (const datacenter of ['dc1', 'dc2']) {
      const node = nodes.find((one) => one.datacenter === datacenter);
      if (node === undefined) continue;
      for (const key of this.#allOf('k', keyCount))
        await this.#finally(() => this.#read('final', node, key, true));
    }
    const [first] = nodes;
    if (first === undefined) return;
    for (const list of this.#allOf('l', listCount))
      await this.#finally(async () => {
        const invokedUs = this.#nowUs();
        const seen = await this.#seeList(first, list);
        if (seen === undefined) return false;
        this.#record('final', first.name, invokedUs, [seen.seen], [], 'ok', '', true);
        return true;
      });
  }

  /** Repeats a final read that failed, for a while. */
  async #finally(read: () => Promise<unknown>): Promise<void> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const found = await read();
      if (found !== undefined && found !== false) return;
      await sleep(500);
    }
  }

  async #objects(client: string): Promise<void> {
    for (let count = 0; !this.#stopping; count++) {
      const node = this.#any();
      const key = this.#name('k', this.#pick(keyCount));
      const read = await this.#read(client, node, key, false);
      if (read !== undefined && this.#pick(4) > 0)
        await this.#write(client, this.#sameSite(node), key, count, read);
      await sleep(pauseMs);
    }
  }

  async #read(
    client: string,
    node: SoakNode,
    key: string,
    final: boolean,
  ): Promise<{ readonly operation: ReadOperation; readonly vclock: string | undefined } | undefined> {
    const id = this.#reserve();
    const invokedUs = this.#nowUs();
    const { status, text, vclock } = await this.#ask(node, 'read', pathOf(key), {
      headers: { accept: 'multipart/mixed' },
    });
    const isOk = status === 200 || status === 300 || status === 404;
    const values = isOk && status !== 404 ? [...new Set(text.match(/soak:[a-z0-9]+:[0-9]+/g) ?? [])] : [];
    const operation: ReadOperation = {
      ...this.#base(id, client, node, key, invokedUs, isOk ? 'ok' : 'fail', isOk ? '' : `${status} ${text}`),
      kind: 'get',
      values,
      final,
    };
    this.operations[id] = operation;
    return isOk ? { operation, vclock } : undefined;
  }

  async #write(
    client: string,
    node: SoakNode,
    key: string,
    count: number,
    { operation, vclock }: { readonly operation: ReadOperation; readonly vclock: string | undefined },
  ): Promise<void> {
    const id = this.#reserve();
    const tag = `soak:${client}:${count}`;
    const invokedUs = this.#nowUs();
    const { status, text } = await this.#ask(node, 'write', pathOf(key), {
      method: 'PUT',
      body: tag,
      headers: { 'content-type': 'text/plain', ...(vclock === undefined ? {} : { 'x-riak-vclock': vclock }) },
    });
    const outcome: Outcome = status === 204 || status === 200 ? 'ok' : 'unknown';
    this.operations[id] = {
      ...this.#base(id, client, node, key, invokedUs, outcome, outcome === 'ok' ? '' : `${status} ${text}`),
      kind: 'put',
      tag,
      contextFrom: vclock === undefined ? undefined : operation.id,
      durableCopies: outcome === 'ok' ? majority : 0,
    };
  }

  async #appends(client: string): Promise<void> {
    while (!this.#stopping) {
      const node = this.#any();
      const first = this.#pick(listCount);
      const second = (first + 1 + this.#pick(listCount - 1)) % listCount;
      const invokedUs = this.#nowUs();
      const [one, other] = [this.#name('l', first), this.#name('l', second)];
      const [left, right] = [await this.#seeList(node, one), await this.#seeList(node, other)];
      if (left !== undefined && right !== undefined)
        await this.#append(client, node, invokedUs, [left, right]);
      await sleep(pauseMs);
    }
  }

  async #append(
    client: string,
    node: SoakNode,
    invokedUs: number,
    lists: readonly SeenList[],
  ): Promise<void> {
    const id = this.transactions.length;
    const elements = elementsOf(id, lists.length);
    const written = lists.map(({ seen }, index) => [...(seen.value?.list ?? []), elements[index] ?? 0]);
    const reads = lists.map(({ seen }) => seen);
    const writes = reads.map(({ key }, index) => {
      return { key, value: listValue(written[index] ?? []), durableCopies: undefined };
    });
    // The place in the history is taken before the request, so that a concurrent one gets another id.
    this.#record(client, node.name, invokedUs, reads, writes, 'unknown', 'under way', false);
    const operations = lists.map(({ seen: { key }, vclock }, index) => {
      const [bucket, name] = key.split('/');
      const condition = vclock === undefined ? { if_absent: true } : { if_match: vclock };
      return { op: 'put', bucket, key: name, value: JSON.stringify(written[index]), ...condition };
    });
    const { status, text } = await this.#ask(node, 'write', '/transactions', {
      method: 'POST',
      body: JSON.stringify({ operations }),
      headers: { 'content-type': 'application/json' },
    });
    const outcome: Outcome = status === 200 ? 'ok' : status === 409 || status === 412 ? 'fail' : 'unknown';
    const reason = outcome === 'ok' ? '' : `${status} ${text.slice(0, 200)}`;
    const before = this.transactions[id];
    if (before !== undefined)
      this.transactions[id] = {
        ...before,
        outcome,
        reason,
        completedUs: status === undefined ? undefined : this.#nowUs(),
      };
  }

  async #seeList(node: SoakNode, list: string): Promise<SeenList | undefined> {
    const key = `lists/${list}`;
    const path = `/buckets/lists/keys/${list}?r=primary`;
    const { status, text, vclock } = await this.#ask(node, 'read', path, {});
    if (status === 404) return { seen: { key, value: undefined }, vclock };
    if (status !== 200) return undefined;
    return { seen: { key, value: listValue(JSON.parse(text) as readonly number[]) }, vclock };
  }

  async #ask(node: SoakNode, what: 'read' | 'write', path: string, init: RequestInit): Promise<Answer> {
    const life = `${node.name} ${node.lives}`;
    const asked = this.asked.get(life) ?? { reads: 0, writes: 0, lost: 0 };
    this.asked.set(life, asked);
    if (what === 'read') asked.reads += 1;
    else asked.writes += 1;
    try {
      const answer = await fetch(`http://${node.address}${path}`, {
        ...init,
        signal: AbortSignal.timeout(answerMsMax),
      });
      const text = await answer.text();
      return { status: answer.status, text, vclock: answer.headers.get('x-riak-vclock') ?? undefined };
    } catch (error) {
      asked.lost += 1;
      return {
        status: undefined,
        text: error instanceof Error ? error.message : String(error),
        vclock: undefined,
      };
    }
  }

  #record(
    client: string,
    node: string,
    invokedUs: number,
    reads: readonly SeenKey[],
    writes: TransactionRecord['writes'],
    outcome: Outcome,
    reason: string,
    final: boolean,
  ): void {
    this.transactions.push({
      ...{
        id: this.transactions.length,
        planned: '',
        client,
        kind: 'append',
        forced: false,
        validated: true,
      },
      ...{ reads, writes, need: majority, invokedUs, completedUs: final ? this.#nowUs() : undefined },
      ...{ outcome, reason, node, xids: [], clientId: '', denials: [], final },
    });
  }

  #base(
    id: number,
    client: string,
    node: SoakNode,
    key: string,
    invokedUs: number,
    outcome: Outcome,
    reason: string,
  ): Omit<ReadOperation, 'kind' | 'values' | 'final'> {
    const { name, datacenter } = node;
    return {
      ...{
        id,
        client,
        key: `soak/${key}`,
        siblings: true,
        node: name,
        datacenter,
        copies: racks,
        need: majority,
      },
      ...{ invokedUs, completedUs: outcome === 'ok' ? this.#nowUs() : undefined, outcome, reason },
    };
  }

  /** Takes the next place in the history; the operation follows once it is over. */
  #reserve(): number {
    this.operations.length += 1;
    return this.operations.length - 1;
  }

  get #period(): number {
    return Math.floor(this.#nowUs() / periodUs);
  }

  /** The name of a key (`k`) or a list (`l`) of this period. */
  #name(kind: 'k' | 'l', index: number): string {
    return `${kind}${this.#period}.${index}`;
  }

  /** The names of all periods so far. */
  #allOf(kind: 'k' | 'l', count: number): readonly string[] {
    const numbers = Array.from({ length: count }, (_, index) => index);
    const periods = Array.from({ length: this.#period + 1 }, (_, period) => period);
    return periods.flatMap((period) => numbers.map((index) => `${kind}${period}.${index}`));
  }

  #any(): SoakNode {
    return this.#of(this.#nodes());
  }

  /** A node of the same datacenter, perhaps another one: a client's session does not depend on one node. */
  #sameSite({ datacenter }: SoakNode): SoakNode {
    return this.#of(this.#nodes().filter((one) => one.datacenter === datacenter));
  }

  #of(nodes: readonly SoakNode[]): SoakNode {
    const node = nodes[this.#pick(nodes.length)];
    if (node === undefined) throw new Error('no node serves clients');
    return node;
  }

  #nowUs(): number {
    return Number((process.hrtime.bigint() - this.#startUs) / 1000n);
  }
}

function pathOf(key: string): string {
  return `/types/${siblingType}/buckets/soak/keys/${key}`;
}

function listValue(list: readonly number[]): SeenKey['value'] {
  return { tag: `list of ${list.length}`, balance: undefined, list };
}
