/**
 * The cluster's minimum version of peer messages: what `lockstep upgrade finalize` raises. Every member then speaks at
 * least that version and admits no node that does not, so what only that version has may be written and sent from then
 * on. Until then nodes of the version before can be members, and every node can go back to it.
 *
 *     node/version    u8 format | u32 minimum
 *
 * It grows only. A node learns it from the node that finalizes, and from the greeting or the gossip of any member that
 * knows it; the record in the store is durable before the node's own greeting and gossip state it. Gossip reaches a member
 * that missed the call that finalized and had greeted the others before they recorded it. A node whose record asks for
 * more than its build speaks does not start.
 *
 * A new cluster holds nothing that an older build could not read: it begins with what its first nodes speak.
 */
import type { UpgradeAdmin } from '../api/http/upgrade-routes.ts';
import { BytesError, ByteWriter } from '../base/bytes.ts';
import { tryDecodeWhole } from '../base/decoding.ts';
import { Deferred } from '../base/deferred.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { systemKey } from '../base/object-key.ts';
import { version } from '../base/version.ts';
import type { Membership, Topics } from '../cluster/membership/membership.ts';
import type { Io } from '../io/io.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import type { VersionRange } from '../peer/wire/versions.ts';
import { messageVersions, rangeText } from '../peer/wire/versions.ts';
import type { LocalStore } from '../replica/key-slots.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Store } from '../storage/store.ts';

const format = 1;
const key = systemKey(byteStringOf('node'), byteStringOf('version'));
/** The record belongs to the node, not to a range of the ring. */
const token = 0 as Token;
/** How long a member may take to answer. */
const answerUsMax = 5_000_000;

/** What one member speaks, as `GET /upgrade` shows it; `reached` is false for one that did not answer. */
export interface MemberVersion {
  readonly node: NodeId;
  readonly reached: boolean;
  readonly max?: number;
  readonly minimum?: number;
  /** Why it did not answer. */
  readonly detail?: string;
  /** It is connected, by a version of peer messages that lacks the question. */
  readonly older?: boolean;
}

/** What the node works with to ask the other members. */
export interface VersionDependencies {
  readonly io: Pick<Io, 'log'>;
  readonly self: NodeId;
  readonly membership: Pick<Membership, 'members'>;
  readonly links: PeerLinks;
}

/** What a node of a new cluster works with to find out what the others speak. */
export interface BeginDependencies extends VersionDependencies {
  readonly membership: Pick<Membership, 'members' | 'lifeOf'>;
}

/** The minimum that this node knows. */
export class ClusterVersion {
  readonly #ours: VersionRange;
  #minimum: number;
  #store: Pick<LocalStore, 'tryWrite'> | undefined;
  #onRaised: () => void = () => undefined;
  #log: Io['log'] | undefined;
  /** The highest minimum that is being recorded because a member stated it. */
  #recording = 0;
  /** Writes of the record, one after another. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(ours: VersionRange, minimum: number) {
    this.#ours = ours;
    this.#minimum = minimum;
  }

  /**
   * Reads the record. `max`: the highest version that this node speaks. Rejects with `FormatUnsupported` if the cluster
   * was finalized beyond that, and with `StorageFailed` if the disk cannot be read. A damaged record counts as none: any
   * member's greeting or gossip repairs it.
   */
  static async open(store: Pick<Store, 'get'>, max: number): Promise<ClusterVersion> {
    const ours = { min: messageVersions.min, max };
    const minimum = Math.max(ours.min, (await read(store)) ?? ours.min);
    if (minimum <= max) return new ClusterVersion(ours, minimum);
    const detail = `this cluster was finalized at version ${minimum} of peer messages, and this node speaks ${rangeText(ours)}: start the build that finalized it, or a later one`;
    throw new LockstepError('FormatUnsupported', detail);
  }

  /** The cluster's minimum, as far as this node knows. */
  get minimum(): number {
    return this.#minimum;
  }

  /** What this node speaks: from the cluster's minimum on. */
  get range(): VersionRange {
    return { min: this.#minimum, max: this.#ours.max };
  }

  /**
   * Writes to `store` from now on, and states the minimum in gossip, which `topics` spreads. `onRaised` is called once a
   * higher minimum is durable.
   */
  writeTo(
    store: Pick<LocalStore, 'tryWrite'>,
    log: Io['log'],
    topics: Pick<Topics, 'add'>,
    onRaised: () => void,
  ): void {
    this.#store = store;
    this.#log = log;
    this.#onRaised = onRaised;
    topics.add('version', {
      digest: () => String(this.#minimum),
      heard: (_, digest) => this.heard(Number(digest)),
    });
  }

  /** A member's greeting or gossip states the minimum that it has recorded. Records it here, too. */
  heard(min: number): void {
    const isNew = Number.isInteger(min) && min > this.#minimum && min > this.#recording;
    if (!isNew || min > this.#ours.max) return;
    this.#recording = min;
    this.#raise(min)
      .catch((error: unknown) => this.#logUnrecorded(min, error))
      .finally(() => {
        this.#recording = 0;
      });
  }

  /**
   * This node and the members that were ever heard hold nothing: the cluster is new. Raises the minimum to what this
   * node speaks, unless one of them speaks less. Resolves with the members that do not answer: then nothing is known,
   * and the caller tries again.
   */
  async begin(parts: BeginDependencies): Promise<readonly NodeId[]> {
    const wanted = this.#ours.max;
    if (this.#minimum >= wanted) return [];
    const members = await this.survey(parts);
    const ever = members.filter(({ node }) => node === parts.self || parts.membership.lifeOf(node) > 0);
    const silent = ever.filter(({ reached, older }) => !reached && older !== true);
    if (silent.length > 0) return silent.map(({ node }) => node);
    const isOlder = ever.some(({ older, max = 0 }) => older === true || max < wanted);
    if (isOlder) return [];
    try {
      await this.#raise(wanted);
    } catch (error) {
      this.#logUnrecorded(wanted, error);
    }
    return [];
  }

  /** The next round of gossip states the minimum again. */
  #logUnrecorded(minimum: number, error: unknown): void {
    const { code, message: detail } = asLockstepError(error);
    this.#log?.event('warn', 'upgrade.version.unrecorded', { minimum, code, detail });
  }

  /** Answers a member that asks for this node's versions, or has it raise the minimum. */
  async answer(words: Uint8Array): Promise<PeerReply> {
    try {
      const asked = decode(words);
      if (asked.minimum > this.#ours.max) throw this.#tooOld(asked.minimum);
      if (asked.minimum > this.#minimum) await this.#raise(asked.minimum);
      return { kind: 'upgradeAnswered', words: encode({ max: this.#ours.max, minimum: this.#minimum }) };
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      return { kind: 'failed', code, detail };
    }
  }

  /** What every member speaks. */
  async survey(parts: VersionDependencies): Promise<readonly MemberVersion[]> {
    return Promise.all(
      parts.membership
        .members()
        .map(({ node }) => this.#ask(parts, node, { max: this.#ours.max, minimum: 0 })),
    );
  }

  /**
   * Raises the cluster's minimum to what this node speaks. Every member must be reached and speak it before any member
   * raises its own: rejects with `Conflict` otherwise, and nothing has changed. If a member fails after that, rejects with
   * `NoQuorum`: some have raised theirs, the others learn of it by gossip, and the call may be repeated.
   */
  async finalize(parts: VersionDependencies): Promise<readonly MemberVersion[]> {
    const wanted = this.#ours.max;
    const before = await this.survey(parts);
    const lacking = before.filter(({ reached, max = 0 }) => !reached || max < wanted);
    if (lacking.length > 0) {
      const names = lacking.map(
        ({ node, detail }) => `${node}: ${detail ?? `it speaks less than ${wanted}`}`,
      );
      throw new LockstepError('Conflict', `every member must speak version ${wanted}; ${names.join('; ')}`);
    }
    parts.io.log.event('info', 'upgrade.finalize.began', { minimum: wanted });
    const after = await Promise.all(
      before.map(({ node }) => this.#ask(parts, node, { max: wanted, minimum: wanted })),
    );
    const failed = after.filter(({ minimum = 0 }) => minimum < wanted);
    if (failed.length === 0) {
      parts.io.log.event('info', 'upgrade.version.finalized', { minimum: wanted });
      return after;
    }
    const names = failed.map(({ node, detail = '' }) => `${node} (${detail})`);
    throw new LockstepError(
      'NoQuorum',
      `version ${wanted} is not recorded yet at ${names.join(', ')}; ask again`,
    );
  }

  #ask(parts: VersionDependencies, node: NodeId, asked: Versions): Promise<MemberVersion> {
    const answered = new Deferred<MemberVersion>();
    const take = (reply: PeerReply): void => answered.resolve(memberVersion(node, reply));
    if (node === parts.self) {
      return this.answer(encode(asked)).then((reply) => memberVersion(node, reply));
    }
    const outcome = parts.links.request(node, { kind: 'upgrade', words: encode(asked) }, answerUsMax, take);
    if (outcome !== 'ok') answered.resolve({ node, reached: false, detail: 'it is not connected' });
    return answered.promise;
  }

  #raise(minimum: number): Promise<void> {
    // One after another: of two records the last one stays, and it must be the higher one.
    const written = this.#writing.then(() => this.#write(minimum));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(minimum: number): Promise<void> {
    if (minimum <= this.#minimum) return;
    const store = this.#store;
    if (store === undefined) throw new LockstepError('Overloaded', 'the node is starting');
    const written = new Deferred<void>();
    const value = new ByteWriter(8).u8(format).u32(minimum).finish();
    const outcome = store.tryWrite([{ key, token, value }], (error) => {
      if (error === undefined) written.resolve();
      else written.reject(error);
    });
    if (outcome !== 'ok') throw new LockstepError('Overloaded', 'the store takes no writes now');
    await written.promise;
    this.#minimum = minimum;
    this.#onRaised();
  }

  #tooOld(minimum: number): LockstepError {
    return new LockstepError('Conflict', `it speaks ${rangeText(this.#ours)}, not ${minimum}`);
  }
}

/** The endpoints of upgrades over this node's version and those of the members. */
export function upgradeAdmin(own: ClusterVersion, parts: VersionDependencies): UpgradeAdmin {
  const shown = (members: readonly MemberVersion[]): object => {
    const { min, max } = own.range;
    return { node: parts.self, product: version, version: { minimum: min, max }, members };
  };
  return {
    describe: async () => shown(await own.survey(parts)),
    finalize: async () => shown(await own.finalize(parts)),
  };
}

/** `max`: the highest version that the sender speaks; `minimum`: the one that it knows, or that it asks for. */
interface Versions {
  readonly max: number;
  readonly minimum: number;
}

function encode({ max, minimum }: Versions): Uint8Array {
  return new ByteWriter(12).u8(format).u32(max).u32(minimum).finish();
}

function decode(words: Uint8Array): Versions {
  const known = tryDecodeWhole(words, (reader) => {
    if (reader.u8() !== format) throw new BytesError('of another format');
    return { max: reader.u32(), minimum: reader.u32() };
  });
  if (known === undefined) throw new LockstepError('BadRequest', 'no message about versions');
  return known;
}

function memberVersion(node: NodeId, reply: PeerReply): MemberVersion {
  if (reply.kind === 'failed')
    return { node, reached: false, detail: reply.detail, older: reply.code === 'PeerRefused' };
  if (reply.kind !== 'upgradeAnswered') return { node, reached: false, detail: 'it answered otherwise' };
  try {
    return { node, reached: true, ...decode(reply.words) };
  } catch (error) {
    return { node, reached: false, detail: asLockstepError(error).message };
  }
}

async function read(store: Pick<Store, 'get'>): Promise<number | undefined> {
  let bytes: Uint8Array | undefined;
  try {
    bytes = await store.get(key);
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'Corrupted') return undefined;
    throw error;
  }
  if (bytes === undefined) return undefined;
  return tryDecodeWhole(bytes, (reader) => {
    if (reader.u8() !== format) throw new BytesError('of another format');
    return reader.u32();
  });
}
