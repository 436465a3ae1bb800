/**
 * A cluster in a world, a client that runs one transaction after another, and backups of it.
 *
 * Transaction `n` writes the number `n` to both keys of pair `n % pairCount`. The client sends the next one only after
 * the last has committed. So the states that the history passes through are exactly these: for some `N`, each pair holds
 * the largest number up to `N` that belongs to it, under both of its keys.
 */
import { assert } from '../../../engine/base/assert.ts';
import { unpackKey } from '../../../engine/base/object-key.ts';
import { HttpBackupNode } from '../../../engine/backup/messages.ts';
import type { BackupNode } from '../../../engine/backup/messages.ts';
import { DirectoryStorage } from '../../../engine/backup/directory-storage.ts';
import { BackupRepository, repositoryFolders } from '../../../engine/backup/repository.ts';
import { RestoredState } from '../../../engine/backup/restored-state.ts';
import { wholeBackup } from '../../../engine/backup/selection.ts';
import type { BackupReport } from '../../../engine/backup/take-backup.ts';
import { backupDefaults, takeBackup } from '../../../engine/backup/take-backup.ts';
import { sleep } from '../../../engine/io/clock.ts';
import { decodeObject, liveSiblings, resolveToNewest } from '../../../engine/replica/object/object.ts';
import type { Host } from '../../world/cluster/host.ts';
import { MemberHarness, second } from '../cluster/member-harness.ts';

const pairCount = 6;
const timeoutUs = 5 * second;

/** What a backup holds, by key. */
export type Restored = ReadonlyMap<string, string>;

/** A cluster of which backups are taken, and clusters into which they are restored. */
export class BackupHarness {
  readonly room: MemberHarness;
  readonly operator: Host;
  readonly repository: BackupRepository;
  /** The number of the last transaction that was sent, and of the last that is known to have committed. */
  sent = 0;
  committed = 0;
  #stopped = false;
  #writing: Promise<void> = Promise.resolve();
  #backups = 0;

  constructor(seed: string, count: number, settings: Readonly<Record<string, unknown>> = {}, racks = count) {
    this.room = new MemberHarness(seed, count, settings, racks);
    this.operator = this.room.world.addHost('operator');
    this.operator.boot();
    this.repository = new BackupRepository(new DirectoryStorage(this.operator.io.disk, repositoryFolders));
  }

  /** The client begins. It ends with `stopWriting`. */
  startWriting(): void {
    this.#stopped = false;
    this.#writing = this.#write();
  }

  async stopWriting(): Promise<void> {
    this.#stopped = true;
    await this.room.world.runUntil(this.#writing, 60 * second);
  }

  /** Lets time pass until `promise` settles. */
  async settled<T>(promise: Promise<T>, budgetUs = 120 * second): Promise<T> {
    await this.room.world.runUntil(
      promise.then(
        () => undefined,
        () => undefined,
      ),
      budgetUs,
    );
    return promise;
  }

  /** Takes a backup of these nodes; `as` may replace how a node is asked. */
  backup(
    names: readonly string[],
    as: (node: BackupNode) => BackupNode = (node) => node,
  ): Promise<BackupReport> {
    const { clock } = this.operator.io;
    this.#backups += 1;
    const id = `b${this.#backups}`;
    const nodes = names.map((name) => as(this.node(name)));
    const options = { ...backupDefaults, pace: { bytesPerSecond: 1_000_000, askingShare: 1 } };
    return (async () => {
      const lock = await this.repository.lock();
      try {
        return await takeBackup(nodes, this.repository, id, clock, options);
      } finally {
        await lock.release();
      }
    })();
  }

  /** The node as a backup asks it, over its HTTP listener. */
  node(name: string): BackupNode {
    const http = this.room.world.httpClient(this.operator);
    return new HttpBackupNode(name, async (method, path, body) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const sent = { method, path, headers, ...(body === undefined ? {} : { body }) };
      return http.request(this.room.cluster.address(name, 'http'), sent, timeoutUs);
    });
  }

  /** The state that a backup holds; the newest one without an id. */
  open(id?: string): Promise<RestoredState> {
    const { io } = this.operator;
    return this.settled(
      (async () => {
        const manifest = await this.repository.manifest(id);
        return RestoredState.open(io, this.repository, manifest, `stage/${manifest.id}`);
      })(),
    );
  }

  /** Every value of the state, by key; of the selected buckets if there is a selection. */
  async read(state: RestoredState, { isWanted } = wholeBackup): Promise<Restored> {
    const found = new Map<string, string>();
    const reading = (async () => {
      for await (const { key, bytes } of state.objects(isWanted)) {
        // The bucket keeps one sibling, as the replicas that an object is restored to do.
        const siblings = liveSiblings(resolveToNewest(decodeObject(bytes)));
        found.set(
          unpackKey(key)?.key ?? '',
          siblings.map(({ value }) => Buffer.from(value).toString()).join('|'),
        );
      }
    })();
    await this.settled(reading);
    return found;
  }

  async #write(): Promise<void> {
    const http = this.room.world.httpClient(this.operator);
    const { clock } = this.operator.io;
    const { cluster } = this.room;
    for (let attempt = 0; !this.#stopped; attempt++) {
      const n = this.committed + 1;
      if (n !== this.sent) this.sent = n;
      const pair = n % pairCount;
      const operations = ['x', 'y'].map((half) => ({
        op: 'put',
        bucket: 'b',
        key: `${half}${pair}`,
        value: String(n),
      }));
      const id = `t${n}-${attempt}`;
      for (let ask = 0; ; ask++) {
        const names = cluster.names;
        const address = cluster.address(names[(n + ask) % names.length] ?? '', 'http');
        const outcome = await this.#transact(http, address, JSON.stringify({ operations, id }));
        if (outcome === 'committed') this.committed = n;
        if (outcome === 'committed' || outcome === 'aborted' || this.#isStopped()) break;
        await sleep(clock, second / 4);
      }
      await sleep(clock, second / 20);
    }
  }

  /** Reads the field again: it may have changed meanwhile. */
  #isStopped(): boolean {
    return this.#stopped;
  }

  async #transact(
    http: ReturnType<MemberHarness['world']['httpClient']>,
    address: Parameters<typeof http.request>[0],
    body: string,
  ): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    try {
      const answer = await http.request(
        address,
        { method: 'POST', path: '/transactions', headers, body },
        timeoutUs,
      );
      return (JSON.parse(answer.body.toString()) as { outcome?: string }).outcome ?? '';
    } catch {
      // The node is down: another one knows the outcome.
      return '';
    }
  }
}

/**
 * The number `N` of the state that the history passed through, if there is one. Throws, with what is wrong, if the
 * restored state is none of them.
 */
export function stateNumber(restored: Restored): number {
  const numbers: number[] = [];
  for (let pair = 0; pair < pairCount; pair++) {
    const [x = '0', y = '0'] = [restored.get(`x${pair}`), restored.get(`y${pair}`)];
    assert(x === y, `pair ${pair} is torn: ${x} and ${y}`);
    numbers.push(Number(x));
  }
  const last = Math.max(...numbers);
  numbers.forEach((number, pair) => {
    const due = last - ((last - pair) % pairCount);
    assert(
      number === Math.max(0, due),
      `pair ${pair} holds ${number}, and ${due} was committed before ${last}`,
    );
  });
  return last;
}

/** A mutant of the protocol: holds each node's writes only for its own cut. */
export function alone(node: BackupNode): BackupNode {
  return {
    address: node.address,
    hold: async (id, leaseMs) => {
      const answer = await node.hold(id, leaseMs);
      await node.release(id);
      return answer;
    },
    cut: async (id) => {
      await node.hold(id, 1000);
      const cut = await node.cut(id);
      await node.release(id);
      return cut;
    },
    release: async (id) => ({ ...(await node.release(id)), held: true }),
    read: (...asked) => node.read(...asked),
    end: (id) => node.end(id),
  };
}
