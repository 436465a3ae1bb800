/**
 * A client that runs one transaction after another: number `n` writes `n` to both keys of its pair `n % pairCount`, in
 * two buckets. So of one client the states that the history passes through are exactly these: for some `N`, each pair
 * holds the largest number up to `N` that belongs to it, under both keys. Of several clients, a state of the history
 * also holds every transaction that was acknowledged before one that it holds was sent.
 */
import { assert, present } from '../../../engine/base/assert.ts';
import { sleep } from '../../../engine/io/clock.ts';
import type { Host } from '../../world/cluster/host.ts';
import type { MemberHarness } from '../cluster/member-harness.ts';
import { second } from '../cluster/member-harness.ts';

const pairCount = 3;
const timeoutUs = 5 * second;

/** When a transaction was first sent, and when the client knew that it had committed. */
interface Times {
  readonly sentUs: number;
  committedUs: number | undefined;
}

/** One client; its keys begin with its name. */
export class PairClient {
  readonly name: string;
  readonly times: Times[] = [{ sentUs: 0, committedUs: 0 }];
  readonly #harness: MemberHarness;
  readonly #operator: Host;
  #stopped = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(name: string, harness: MemberHarness, operator: Host) {
    this.name = name;
    this.#harness = harness;
    this.#operator = operator;
  }

  start(): void {
    this.#writing = this.#write();
  }

  stop(): Promise<void> {
    this.#stopped = true;
    return this.#writing;
  }

  /** The number of the last transaction that was acknowledged before this moment. */
  committedBefore(us: number): number {
    return this.times.findLastIndex(({ committedUs }) => committedUs !== undefined && committedUs <= us);
  }

  /** The number `N` of the state that the values of its keys are. Throws, with what is wrong, if they are none. */
  numberIn(values: ReadonlyMap<string, string>): number {
    const pairs = Array.from({ length: pairCount }, (_, pair) => {
      const [x = '0', y = '0'] = [values.get(`${this.name}x${pair}`), values.get(`${this.name}y${pair}`)];
      assert(x === y, `pair ${pair} of ${this.name} is torn: ${x} and ${y}`);
      return Number(x);
    });
    const last = Math.max(...pairs);
    pairs.forEach((number, pair) => {
      const due = Math.max(0, last - ((last - pair) % pairCount));
      assert(number === due, `pair ${pair} of ${this.name} holds ${number}, and ${due} came before ${last}`);
    });
    return last;
  }

  async #write(): Promise<void> {
    const { clock } = this.#operator.io;
    for (let n = 1; !this.#stopped; n++) {
      const times: Times = { sentUs: this.#harness.world.nowUs, committedUs: undefined };
      this.times.push(times);
      for (let attempt = 0; !this.#isStopped(); attempt++) {
        if ((await this.#settle(n, attempt)) !== 'committed') continue;
        times.committedUs = this.#harness.world.nowUs;
        break;
      }
      await sleep(clock, second / 20);
    }
  }

  /** Sends one transaction to one node after another until its outcome is known. */
  async #settle(n: number, attempt: number): Promise<string> {
    const operations = ['x', 'y'].map((half) => ({
      op: 'put',
      bucket: `bucket-${half}`,
      key: `${this.name}${half}${n % pairCount}`,
      value: String(n),
    }));
    const body = JSON.stringify({ operations, id: `${this.name}-${n}-${attempt}` });
    for (let ask = 0; !this.#isStopped(); ask++) {
      const names = this.#harness.cluster.names.filter((name) => this.#harness.cluster.serves(name));
      const name = names[(n + ask) % names.length];
      const outcome = name === undefined ? '' : await this.#ask(name, body);
      if (outcome === 'committed' || outcome === 'aborted') return outcome;
      await sleep(this.#operator.io.clock, second / 4);
    }
    return '';
  }

  /** Reads the field again: it may have changed meanwhile. */
  #isStopped(): boolean {
    return this.#stopped;
  }

  async #ask(name: string, body: string): Promise<string> {
    const http = this.#harness.world.httpClient(this.#operator);
    const headers = { 'content-type': 'application/json' };
    const sent = { method: 'POST', path: '/transactions', headers, body } as const;
    try {
      const answer = await http.request(this.#harness.cluster.address(name, 'http'), sent, timeoutUs);
      return (JSON.parse(answer.body.toString()) as { outcome?: string }).outcome ?? '';
    } catch {
      // The node is down: another one knows the outcome.
      return '';
    }
  }
}

/**
 * Checks that the values are a state of the history, no older than `sinceUs`. Throws, with what is wrong. Resolves with
 * each client's number.
 */
export function checkState(
  clients: readonly PairClient[],
  values: ReadonlyMap<string, string>,
  sinceUs: number,
): readonly number[] {
  const numbers = clients.map((client) => client.numberIn(values));
  clients.forEach((client, index) => {
    const number = present(numbers[index], 'a number');
    const sent = client.times[number]?.sentUs;
    assert(sent !== undefined, `${client.name} never sent ${number}`);
    const acknowledged = client.committedBefore(sinceUs);
    assert(
      number >= acknowledged,
      `${client.name}: ${acknowledged} was acknowledged before, and ${number} is there`,
    );
    clients.forEach((other, place) => {
      const before = other.committedBefore(sent - 1);
      const held = present(numbers[place], 'a number');
      assert(
        held >= before,
        `${other.name} had committed ${before} before ${client.name} sent ${number}, and ${held} is there`,
      );
    });
  });
  return numbers;
}
