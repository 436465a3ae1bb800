/**
 * An operator who takes backups of the running cluster over HTTP, each at its moment, and keeps them on the operator's
 * own disk. Each is read back at once, as a restore would read it.
 */
import { MembersMissingError } from '../../engine/backup/cut-protocol.ts';
import { DirectoryStorage } from '../../engine/backup/directory-storage.ts';
import type { BackupNode } from '../../engine/backup/messages.ts';
import { HttpBackupNode } from '../../engine/backup/messages.ts';
import { BackupRepository, repositoryFolders } from '../../engine/backup/repository.ts';
import { RestoredState } from '../../engine/backup/restored-state.ts';
import { backupDefaults, takeBackup } from '../../engine/backup/take-backup.ts';
import { textOf } from '../../engine/base/ids.ts';
import { unpackKey } from '../../engine/base/object-key.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import { expiryOf, newestValue } from '../../engine/replica/object/expiry.ts';
import type { Sibling } from '../../engine/replica/object/object.ts';
import { decodeObject, liveSiblings, resolveToNewest } from '../../engine/replica/object/object.ts';
import type { BackedUpObject, BackedUpRedisKey, BackupContents, BackupRecord } from '../evidence/backups.ts';
import type { SeenKey } from '../evidence/transactions.ts';
import type { PlanBackup } from '../plan/plan.ts';
import { redisBucket } from '../plan/plan.ts';
import { epochMs } from '../world/core/clock.ts';
import { HttpClient } from '../world/http/http-client.ts';
import type { LoadCluster } from './load-world.ts';
import { readTag } from './traced-value.ts';
import { parseValue } from './transaction-client.ts';

const timeoutUs = 5_000_000;
/** Slow enough that faults strike while segments are copied. */
const pace = { bytesPerSecond: 500_000, askingShare: 1 };
/** The longest time by which the nodes' parts in one step of a cut lie apart. */
const apartUsMax = 200_000;

/** What the operator works with. */
export interface BackupOperatorContext {
  readonly cluster: Pick<LoadCluster, 'members' | 'address'>;
  readonly token: string | undefined;
  readonly nowUs: () => number;
  /** The keys of objects by name, each with whether its bucket keeps siblings. */
  readonly objects: ReadonlyMap<string, boolean>;
  /** The names of the keys that transactions use. */
  readonly transactionKeys: readonly string[];
}

/** The operator of one run, and the records of the backups. */
export class BackupOperator {
  readonly #context: BackupOperatorContext;
  readonly #io: Io;
  readonly #repository: BackupRepository;
  readonly #taken: { readonly record: Omit<BackupRecord, 'leftBehind'>; readonly duties: BackupDuties }[] =
    [];
  #duties = new BackupDuties();
  /** The backup before: a repository has one writer at a time. */
  #last: Promise<void> = Promise.resolve();

  constructor(context: BackupOperatorContext, io: Io) {
    this.#context = context;
    this.#io = io;
    this.#repository = new BackupRepository(new DirectoryStorage(io.disk, repositoryFolders));
  }

  /** The backups so far, with what they have left behind by now. */
  get records(): readonly BackupRecord[] {
    return this.#taken.map(({ record, duties }) => ({ ...record, leftBehind: duties.left }));
  }

  /** Takes one backup of all that are members now. A cluster that is not whole for long gives none. */
  take({ id }: PlanBackup): Promise<void> {
    this.#last = this.#last.then(() => this.#take(id));
    return this.#last;
  }

  /** Called when a node's hold for the backup ends with its lease. */
  leaseEnded(node: string, id: string): void {
    for (const { duties } of this.#taken) duties.leaseEnded(node, id);
    this.#duties.leaseEnded(node, id);
  }

  async #take(id: string): Promise<void> {
    const { cluster, nowUs } = this.#context;
    const nodes = [...cluster.members];
    const invokedUs = nowUs();
    const moment = { heldUs: invokedUs, releasedUs: 0 };
    const duties = new BackupDuties();
    this.#duties = duties;
    const refusal = await failureOf(this.#copy(id, nodes, moment));
    let contents: BackupContents | undefined;
    const loss =
      refusal === '' ? await failureOf(this.#readBack(id).then((found) => (contents = found))) : refusal;
    const record = {
      ...{ id, nodes, invokedUs, completedUs: nowUs(), ...moment },
      ...{ outcome: refusal === '' ? ('ok' as const) : ('fail' as const), reason: loss, contents },
    };
    this.#taken.push({ record, duties });
  }

  async #copy(id: string, nodes: readonly string[], moment: Moment): Promise<void> {
    const { clock, random } = this.#io;
    const lock = await this.#repository.lock();
    try {
      const apartUs = random.chance(1, 2) ? apartUsMax : 1;
      const asked = nodes.map((name) => {
        const pause = async (): Promise<void> => {
          await sleep(clock, random.below(apartUs));
          // The operator sees that a node is gone for good, and does not ask it again and again.
          if (!this.#context.cluster.members.includes(name))
            throw new MembersMissingError(
              `${name} has left, or was replaced: name those that are members now`,
            );
        };
        return timed(this.#duties.watched(this.#node(name)), moment, this.#context.nowUs, pause);
      });
      await takeBackup(asked, this.#repository, id, clock, { ...backupDefaults, pace });
    } finally {
      await lock.release();
    }
  }

  async #readBack(id: string): Promise<BackupContents> {
    const manifest = await this.#repository.manifest(id);
    const state = await RestoredState.open(this.#io, this.#repository, manifest, `stage/${id}`);
    try {
      return await this.#read(state);
    } finally {
      await state.close();
    }
  }

  async #read(state: RestoredState): Promise<BackupContents> {
    const { objects, transactionKeys } = this.#context;
    const values = new Map<string, readonly Uint8Array[]>();
    const redisKeys: BackedUpRedisKey[] = [];
    for await (const { key, bytes } of state.objects(() => true)) {
      const place = unpackKey(key);
      if (place === undefined) continue;
      const name = `${textOf(place.bucket)}/${textOf(place.key)}`;
      const object = decodeObject(bytes);
      if (textOf(place.bucket) === redisBucket) {
        const newest = newestValue(object);
        if (newest !== undefined) redisKeys.push(redisKeyOf(textOf(place.key), newest));
        continue;
      }
      const siblings = liveSiblings(objects.get(name) === true ? object : resolveToNewest(object));
      values.set(
        name,
        siblings.map(({ value }) => value),
      );
    }
    return {
      objects: [...objects.keys()].map((key): BackedUpObject => ({
        key,
        values: (values.get(key) ?? []).map(readTag),
      })),
      transactionKeys: transactionKeys.map((key): SeenKey => {
        const [value] = values.get(key) ?? [];
        return { key, value: value === undefined ? undefined : parseValue(value) };
      }),
      redisKeys,
      inDoubt: state.decided.inDoubt,
      aborted: state.decided.aborted,
      unreadable: state.unreadable.keys,
    };
  }

  #node(name: string): BackupNode {
    const { cluster, token } = this.#context;
    const http = new HttpClient(this.#io, token);
    return new HttpBackupNode(name, async (method, path, body) => {
      const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
      const request = { method, path, headers, ...(body === undefined ? {} : { body: Buffer.from(body) }) };
      return http.request(cluster.address(name, 'http'), request, timeoutUs);
    });
  }
}

function redisKeyOf(key: string, sibling: Sibling): BackedUpRedisKey {
  const expiresAtMs = expiryOf(sibling);
  const expiresUs = expiresAtMs === 0 ? undefined : (expiresAtMs - epochMs) * 1000;
  return { key, value: Buffer.from(sibling.value).toString('latin1'), expiresUs };
}

/** Why the work failed; empty if it did not. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return '';
  } catch (error) {
    return String(error);
  }
}

/** When all nodes held, and when the first was told to go on, in the attempt that succeeded. */
interface Moment {
  heldUs: number;
  releasedUs: number;
}

/** What the operator owes the nodes of one backup: each hold is to be released, and each cut to be ended. */
class BackupDuties {
  readonly #held = new Set<string>();
  readonly #pinned = new Set<string>();
  readonly #released = new Set<string>();
  readonly #holding = new Set<string>();

  /** What no call has ended so far. A node that could not be reached ends both by itself. */
  get left(): readonly string[] {
    return [
      ...[...this.#held].map((one) => `no call let ${one} go on`),
      ...[...this.#pinned].map((one) => `no call ended ${one}`),
      ...this.#holding,
    ];
  }

  /** Called when a node's hold for the backup ends with its lease. */
  leaseEnded(node: string, id: string): void {
    const one = `${node} (${id})`;
    if (this.#released.has(one)) this.#holding.add(`${one} held on after it had answered the release`);
  }

  /** The node, with its calls followed. */
  watched(node: BackupNode): BackupNode {
    const name = (id: string): string => `${node.address} (${id})`;
    return {
      address: node.address,
      hold: (id, leaseMs) => {
        this.#held.add(name(id));
        return node.hold(id, leaseMs);
      },
      cut: (id) => {
        this.#pinned.add(name(id));
        return node.cut(id);
      },
      release: async (id) => {
        this.#held.delete(name(id));
        const answer = await failing(node.release(id), () => this.#pinned.delete(name(id)));
        this.#released.add(name(id));
        return answer;
      },
      read: (...asked) => node.read(...asked),
      end: (id) => {
        this.#pinned.delete(name(id));
        return node.end(id);
      },
    };
  }
}

/** The promise, with `failed` called before it rejects. */
async function failing<T>(promise: Promise<T>, failed: () => void): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    failed();
    throw error;
  }
}

/**
 * The node, with the moments of the cut written down. `pause`: what passes before it is asked to hold, and to cut. Where
 * the nodes' cuts lie apart, whatever they do not hold back meanwhile tears the backup; where they are asked at once,
 * transactions are caught on their way.
 */
function timed(
  node: BackupNode,
  moment: Moment,
  nowUs: () => number,
  pause: () => Promise<void>,
): BackupNode {
  return {
    address: node.address,
    hold: async (...asked) => {
      moment.releasedUs = 0;
      await pause();
      const answer = await node.hold(...asked);
      moment.heldUs = nowUs();
      return answer;
    },
    cut: async (...asked) => {
      await pause();
      return node.cut(...asked);
    },
    release: (...asked) => {
      if (moment.releasedUs === 0) moment.releasedUs = nowUs();
      return node.release(...asked);
    },
    read: (...asked) => node.read(...asked),
    end: (...asked) => node.end(...asked),
  };
}
