/**
 * Follows every object that nodes write to their disks: the dots that it names and the versions that it replaces
 * (`causality`), the hints that nodes keep and remove (`hint-delivery`), and the copies that they give up
 * (`transfer-soundness`). The world reports every write when it has reached the disk.
 */
import { hash } from 'node:crypto';

import { present } from '../../engine/base/assert.ts';
import type { NodeId } from '../../engine/base/ids.ts';
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey, unpackKey } from '../../engine/base/object-key.ts';
import type { Dot, VersionVector } from '../../engine/replica/object/dots.ts';
import { covers } from '../../engine/replica/object/dots.ts';
import { encodeContent } from '../../engine/replica/object/content.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { describeObject, encodeObject, liveSiblings } from '../../engine/replica/object/object.ts';
import { hintKeyOf } from '../../engine/replication/hints/hint-codec.ts';
import type { DotRecords } from '../check/disks/dots.ts';
import type { CoordinatedAt } from '../evidence/prunings.ts';
import type { HintBalance, HintRecords, SpreadRecords } from '../check/disks/hints.ts';
import type { TransferRecords } from '../check/disks/transfers.ts';
import type { BadEvent } from '../check/report.ts';
import type { DiskWatcher } from '../world/core/watchers.ts';
import type { DateObserver } from './date-observer.ts';
import type { LogRecord, SegmentHead, SegmentTail } from './log-records.ts';
import { tailOf } from './log-records.ts';
import type { PrunedEntries } from './context-pruning.ts';
import { judgePruning } from './context-pruning.ts';
import { isOfObjectLoad, isOfSpreadLoad } from './load-keys.ts';
import { tagAt } from '../workload/traced-value.ts';
import { MergeObserver } from './merge-observer.ts';
import { newestRecords, objectOf, storeNames } from './newest-records.ts';
import { logsInUse } from './segments-in-use.ts';
import { isCovered, isUnderNewName, nameOfDot, placeOfDot, sameDot, tellingOf } from './dot-names.ts';
import type { HintAges } from './hint-ages.ts';
import type { ReadHint } from './hint-records.ts';
import { readHint, readHintObject } from './hint-records.ts';
import type { StoredHint } from './hint-sends.ts';
import { FlushHistory } from './flush-history.ts';
import { nameOf } from './store-dump.ts';
import type { SpreadTerms } from './write-spread.ts';
import { WriteSpread } from './write-spread.ts';

const segmentPath = /^(store|hints)\/\d+\.log$/;
/** The newest record of a key on a host, if it is an object. */
export interface HeldCopy {
  readonly object: StoredObject;
  readonly token: number;
  /** When it was seen first: as it was written, or at the start of an incarnation that has found it. */
  readonly atUs: number;
}

/** The newest record of a key; a removal has no object and no hint. */
interface Held extends Omit<HeldCopy, 'object'> {
  readonly seq: number;
  readonly object: StoredObject | undefined;
  /** Where it lies: in the log, and where merges have copied it to. */
  readonly places: RecordPlace[];
  /** The node has reported that it cannot read the record. */
  unreadable: boolean;
}

/** Bytes `from` to `to` - 1 of a file of a host. */
interface RecordPlace {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

interface HeldHint extends Pick<Held, 'places' | 'unreadable'> {
  readonly seq: number;
  readonly hint: Uint8Array | undefined;
}

/** `value` undefined: the hint is removed. */
function hintAt(
  path: string,
  { seq, at, bytes }: Pick<LogRecord, 'seq' | 'at' | 'bytes'>,
  value: Uint8Array | undefined,
): HeldHint {
  const hint = value === undefined ? undefined : new Uint8Array(value);
  return { seq, hint, places: [{ path, from: at, to: at + bytes }], unreadable: false };
}

/** Sequence numbers of the hints that an incarnation wrote and removed; those up to `foundSeq` were there before. */
interface HintWrites {
  foundSeq: number;
  readonly written: Set<number>;
  readonly erased: Set<number>;
}

/** The write that a dot names. */
interface NamedWrite {
  readonly key: PackedKey;
  /** The result of `tellingOf` for its content. */
  readonly content: string;
}

/** Who holds copies, as the world knows the ring. */
export interface Owners {
  /** The owners of the token that replace a peer which is no longer a member; undefined for a member. */
  readonly replacing: (peer: string, token: number) => readonly string[] | undefined;
  /** The owners of the token by the ring that the host has. */
  readonly seenBy: (host: string, token: number) => readonly string[];
}

const noOwners: Owners = { replacing: () => undefined, seenBy: () => [] };

/** What the contract of faults excepts in a run. */
export interface DiskExceptions {
  /** Bytes may rot, or the disk may refuse to read them: records are followed through merges, for `damaged`. */
  readonly mayBeUnreadable: boolean;
  /** Nodes whose disks may forget what they had acknowledged. */
  readonly forgetful: ReadonlySet<string>;
  /** Which hints a host may give up because they are too old (`hint_age_seconds_max`). */
  readonly hintAges: Pick<HintAges, 'began' | 'isTooOld'>;
  /** Called for each live copy that a host has removed, with the bytes that it has sent before. */
  readonly removed?: (host: string, bytes: number) => void;
  /** What nodes have pruned from causal contexts, and the limits of that. Undefined: not judged. */
  readonly pruned?: Pick<PrunedEntries, 'limitsOf' | 'covers'>;
  /** Undefined: a coordinator may keep no hint of a replica that it missed. */
  readonly spread?: Pick<SpreadTerms, 'patienceUs' | 'isHindered' | 'ownersOf'>;
}

/** Judges every object and hint as it reaches a disk; collects violations of `causality` and `hint-delivery`. */
export class ObjectObserver {
  readonly #nowUs: () => number;
  readonly #owners: Owners;
  readonly #dates: DateObserver | undefined;
  readonly #exceptions: DiskExceptions;
  readonly #segments = new Map<string, SegmentTail>();
  /** By dot: the key and content that it names. */
  readonly #named = new Map<string, NamedWrite>();
  /** By tag: the dot of each put of a client of single keys. */
  readonly #puts = new Map<string, CoordinatedAt>();
  readonly #twice: BadEvent[] = [];
  /** The newest record, per host and key. */
  readonly #held = new Map<string, Held>();
  /** The context of the last tombstone that a host has removed, per host and key. */
  readonly #reaped = new Map<string, VersionVector>();
  /** Hints that the host holds, per host and hint key. */
  readonly #hints = new Map<string, Map<string, HeldHint>>();
  /** Sequence numbers of the hints that each host's incarnation wrote, and of those that it removed. */
  readonly #hintWrites = new Map<string, HintWrites>();
  /** Hosts whose log a fault has altered: part of what they wrote may be unreadable. */
  readonly #altered = new Set<string>();
  readonly #spread: WriteSpread | undefined;
  /** The flushes that any disk names. */
  readonly flushes = new FlushHistory();
  readonly #merges = new MergeObserver();
  readonly #reused: BadEvent[] = [];
  readonly #lost: BadEvent[] = [];
  readonly #forgotten: BadEvent[] = [];
  #compared = 0;
  #skipped = 0;
  #removed = 0;
  #overwrites = 0;
  #skippedHints = 0;
  readonly #forsaken: BadEvent[] = [];
  #cleaned = 0;
  #skippedCopies = 0;

  /** `dates` also receives every object. */
  constructor(
    nowUs: () => number,
    owners: Owners = noOwners,
    dates?: DateObserver,
    exceptions: DiskExceptions = {
      mayBeUnreadable: false,
      forgetful: new Set(),
      hintAges: { began: () => undefined, isTooOld: () => false },
    },
  ) {
    this.#nowUs = nowUs;
    this.#owners = owners;
    this.#dates = dates;
    this.#exceptions = exceptions;
    const { spread } = exceptions;
    if (spread === undefined) return;
    this.#spread = new WriteSpread({
      ...spread,
      holds: (node, key, dot) => this.#holds(node, key, dot),
      isHinted: (peer, key, dot) => this.#isHinted(peer, key, dot),
      describe: (key, dot) => `${nameOfDot(dot)} of ${nameOf(key)}`,
    });
  }

  get watcher(): DiskWatcher {
    return {
      wrote: (host, _life, path, _content, from, whole) => this.#wrote(host, path, whole, from),
      altered: (host, path) => {
        if (path === '' || segmentPath.test(path)) this.#altered.add(host);
      },
    };
  }

  get dots(): DotRecords {
    return {
      compared: this.#compared + this.#merges.records.compared,
      skipped: this.#skipped,
      reused: this.#reused,
      lost: [...this.#lost, ...this.#merges.records.lost],
      twice: this.#twice,
    };
  }

  /** By tag: the dot under which each put of a client of single keys reached a disk. */
  get coordinated(): ReadonlyMap<string, CoordinatedAt> {
    return this.#puts;
  }

  get hints(): Omit<HintRecords, 'sends'> {
    const removed = this.#removed + this.#overwrites;
    const spread: SpreadRecords = this.#spread?.records ?? { compared: 0, skipped: 0, missed: [] };
    return { removed, skipped: this.#skippedHints, forgotten: this.#forgotten, spread };
  }

  /** Copies that nodes removed because they own the key no more. */
  get cleanups(): TransferRecords {
    const [compared, skipped] = [this.#cleaned - this.#skippedCopies, this.#skippedCopies];
    return { compared, skipped, lost: this.#forsaken };
  }

  /** What the hosts hold: host, key and newest record. */
  *copies(): Generator<readonly [host: string, key: PackedKey, copy: HeldCopy]> {
    for (const [place, { object, token, atUs }] of this.#held) {
      const at = place.indexOf(' ');
      if (object !== undefined)
        yield [place.slice(0, at), place.slice(at + 1) as PackedKey, { object, token, atUs }];
    }
  }

  /** The token of the key, if the host holds or held a copy of it. */
  tokenAt(host: string, key: PackedKey): number | undefined {
    return this.#held.get(`${host} ${key}`)?.token;
  }

  copyAt(host: string, key: PackedKey): HeldCopy | undefined {
    const held = this.#held.get(`${host} ${key}`);
    return held?.object === undefined ? undefined : { ...held, object: held.object };
  }

  /** Number of hints that the node's incarnation wrote to its disk, and of those that it removed there. */
  hintWrites(host: string): Pick<HintBalance, 'written' | 'erased'> {
    const writes = this.#hintWrites.get(host);
    return { written: writes?.written.size ?? 0, erased: writes?.erased.size ?? 0 };
  }

  /** The hint of a key that lies on the host's disk for the peer. */
  hintAt(host: string, peer: string, key: PackedKey): StoredHint | undefined {
    const held = this.#hints.get(host)?.get(hintKeyOf(peer as NodeId, key));
    const object = held?.hint === undefined ? undefined : readHintObject(held.hint);
    return held === undefined || object === undefined ? undefined : { seq: held.seq, object };
  }

  /** Number of hints on a node's disk now. */
  hintsOnDisk(host: string): number {
    const hints = [...(this.#hints.get(host)?.values() ?? [])];
    return hints.filter(({ hint }) => hint !== undefined).length;
  }

  /** The incarnation of a node ends, or is about to. */
  ended(host: string): void {
    this.#spread?.ended(host);
  }

  /** A node left the cluster for good: the hints that it still holds are lost. */
  departed(host: string): void {
    for (const [key, held] of this.#hints.get(host) ?? []) this.#lose(host, key, held, 'left with');
  }

  /** An incarnation starts with these files, whether or not they contain what the previous one wrote. */
  relearn(host: string, files: ReadonlyMap<string, Buffer>): void {
    for (const key of this.#held.keys()) if (key.startsWith(`${host} `)) this.#held.delete(key);
    for (const key of this.#segments.keys()) if (key.startsWith(`${host}:`)) this.#segments.delete(key);
    this.#hints.set(host, new Map());
    const writes: HintWrites = { foundSeq: 0, written: new Set(), erased: new Set() };
    this.#hintWrites.set(host, writes);
    this.#merges.started(host);
    for (const [room, key, { seq, token, value, at, bytes }, path] of newestRecords(files)) {
      this.#merges.wrote(host, room, { key, seq, value });
      if (room === 'hints') writes.foundSeq = Math.max(writes.foundSeq, seq);
      if (value === 'damaged') continue;
      if (isSystemKey(key)) {
        this.flushes.learn(key, value);
        continue;
      }
      if (room === 'hints') {
        // Removals count too: the store overwrites a file that it has given up, and the file shows older records
        // meanwhile.
        this.#hints.get(host)?.set(key, hintAt(path, { seq, at, bytes }, value));
        continue;
      }
      const object = value === undefined ? undefined : objectOf(value);
      if (value === undefined || object !== undefined)
        this.#held.set(`${host} ${key}`, this.#heldAt(path, { seq, token, at, bytes }, object));
    }
    this.#exceptions.hintAges.began(host, this.#newestHintMs(host));
    for (const room of storeNames) {
      for (const [path, content, head] of logsInUse(files, room))
        this.#tailOf(`${host}:${path}`, content, head)?.read(content, 0, () => undefined);
    }
  }

  /** The stamp of the hint that was written last; undefined if the disk holds none. */
  #newestHintMs(host: string): number | undefined {
    const held = [...(this.#hints.get(host)?.values() ?? [])].filter(({ hint }) => hint !== undefined);
    const newest = held.toSorted((left, right) => right.seq - left.seq)[0]?.hint;
    return newest === undefined ? undefined : readHint(newest)?.writtenMs;
  }

  /** A merge of one of the host's stores has ended. Not judged if a fault has altered its logs. */
  merged(host: string, files: ReadonlyMap<string, Buffer>): void {
    if (!this.#altered.has(host)) this.#merges.merged(host, files, this.#nowUs());
  }

  /**
   * A recovery truncates a log where a batch is missing. The records after that offset were never acknowledged, and the
   * store assigns their sequence numbers again.
   */
  cut(host: string, path: string, offset: number, files: ReadonlyMap<string, Buffer>): void {
    const left = present(files.get(path), 'the log that is cut').subarray(0, offset);
    this.relearn(host, new Map([...files, [path, left]]));
  }

  /**
   * The host reports that these bytes of a log cannot be read. What it holds of the keys whose newest records lie there
   * is lost: an older version from another replica may take its place. A hint there is lost, too.
   */
  damaged(host: string, path: string, from: number, to: number): void {
    const isHit = ({ places }: HeldHint | Held): boolean =>
      places.some((one) => one.path === path && one.from < to && from < one.to);
    for (const [place, held] of this.#held) if (place.startsWith(`${host} `)) held.unreadable ||= isHit(held);
    for (const hint of this.#hints.get(host)?.values() ?? []) hint.unreadable ||= isHit(hint);
  }

  #wrote(host: string, path: string, content: Buffer, from: number): void {
    const room = segmentPath.exec(path)?.[1];
    const tail = room === undefined ? undefined : this.#tailOf(`${host}:${path}`, content);
    this.#spread?.judge(this.#nowUs());
    if (tail === undefined || (tail.head.merge && !this.#exceptions.mayBeUnreadable)) return;
    tail.read(content, from, (record) => {
      if (tail.head.merge) return this.#copied(host, path, record);
      this.#merges.wrote(host, room ?? '', record);
      if (room === 'hints') this.#hinted(host, path, record);
      else this.#stored(host, path, record);
    });
  }

  /** A merge copies a record. */
  #copied(host: string, path: string, { key, seq, at, bytes }: LogRecord): void {
    const held = this.#held.get(`${host} ${key}`) ?? this.#hints.get(host)?.get(key);
    if (held?.seq === seq) held.places.push({ path, from: at, to: at + bytes });
  }

  #tailOf(name: string, content: Buffer, head?: SegmentHead): SegmentTail | undefined {
    const known = this.#segments.get(name);
    const tail = tailOf(content, known, head);
    if (tail !== undefined && tail !== known) this.#segments.set(name, tail);
    return tail;
  }

  #stored(host: string, path: string, { key, token, seq, value, at, bytes }: LogRecord): void {
    if (value === 'damaged') return;
    if (isSystemKey(key)) {
      this.flushes.learn(key, value);
      return;
    }
    const place = `${host} ${key}`;
    const held = this.#held.get(place);
    // The same batch again, rewritten by a recovery or read again because it follows a hole.
    if (held !== undefined && seq <= held.seq) return;
    if (value === undefined) {
      if (held?.object !== undefined) {
        if (liveSiblings(held.object).length === 0) this.#reaped.set(place, held.object.context);
        else if (!held.unreadable && !this.flushes.isFlushed(key))
          this.#cleanedUp(host, key, token, held.object);
      }
      this.#held.set(place, this.#heldAt(path, { seq, token, at, bytes }, undefined));
      return;
    }
    const object = objectOf(value);
    if (object === undefined) {
      this.#skipped += 1;
      return;
    }
    this.#dates?.stored(key, object);
    for (const sibling of object.siblings) {
      if (this.#name(host, key, sibling) && isOfSpreadLoad(key))
        this.#spread?.wrote(host, key, token, sibling.dot, this.#nowUs());
    }
    // The exception of `causality` in the contract of faults.
    if (held?.unreadable === true) this.#skipped += held.object?.siblings.length ?? 0;
    else if (held?.object !== undefined) this.#replaces(host, key, held.object, object);
    this.#held.set(place, this.#heldAt(path, { seq, token, at, bytes }, object));
  }

  /** Returns true if no disk had the dot before. */
  #name(host: string, key: PackedKey, sibling: StoredObject['siblings'][number]): boolean {
    const dot = placeOfDot(key, sibling);
    const content = tellingOf(encodeContent(sibling));
    const known = this.#named.get(dot);
    if (known === undefined) {
      this.#named.set(dot, { key, content });
      this.#put(host, key, sibling);
      return true;
    }
    this.#compared += 1;
    if (known.key === key && known.content === content) return false;
    const [before, now] = [known, { key, content }].map(describeWrite);
    const text = `${host} writes ${now} under the dot ${nameOfDot(sibling.dot)}, which names ${before}`;
    this.#reused.push({ atUs: this.#nowUs(), text });
    return false;
  }

  /** A client sends each put once, so its tag has one dot. */
  #put(host: string, key: PackedKey, { dot, value }: StoredObject['siblings'][number]): void {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const tag = tagAt(bytes, 0);
    if (tag === undefined || !isOfObjectLoad(key)) return;
    const known = this.#puts.get(tag);
    if (known === undefined) {
      this.#puts.set(tag, { actor: textOf(dot.actor), counter: dot.counter });
      return;
    }
    const text = `${host} holds the put ${tag} of ${nameOf(key)} under ${nameOfDot(dot)}, which was applied as ${known.actor}:${known.counter} before`;
    this.#twice.push({ atUs: this.#nowUs(), text });
  }

  #replaces(host: string, key: PackedKey, old: StoredObject, now: StoredObject): void {
    // A node that lost its copy of a key knows nothing of it; it writes under an actor that it has never used for the
    // key.
    if (this.#altered.has(host) && isUnderNewName(host, old, now)) {
      this.#skipped += old.siblings.length;
      return;
    }
    const pruned = judgePruning(old, now, this.#exceptions.pruned?.limitsOf(host, key));
    if (pruned !== undefined) this.#compared += 1;
    if (pruned !== undefined && pruned !== 'allowed')
      this.#lost.push({ atUs: this.#nowUs(), text: `${host} prunes ${nameOf(key)}: ${pruned}` });
    for (const { dot } of old.siblings) {
      const kept = now.siblings.some((sibling) => sameDot(sibling.dot, dot));
      if (!kept && now.context.every(({ actor }) => actor !== dot.actor)) {
        this.#skipped += 1;
        continue;
      }
      this.#compared += 1;
      if (kept || covers(now.context, dot)) continue;
      const text = `${host} forgets ${nameOfDot(dot)} of ${nameOf(key)}: ${describeObject(now)} replaces ${describeObject(old)}`;
      this.#lost.push({ atUs: this.#nowUs(), text });
    }
  }

  /** A node removes a live copy only where it owns the key no more, and after each owner has it durably. */
  #cleanedUp(host: string, key: PackedKey, token: number, object: StoredObject): void {
    const owners = this.#owners.seenBy(host, token);
    const fault = (why: string): void => {
      const text = `${host} removes its copy of ${nameOf(key)}, ${describeObject(object)}: ${why}`;
      this.#forsaken.push({ atUs: this.#nowUs(), text });
    };
    this.#cleaned += 1;
    this.#exceptions.removed?.(host, encodeObject(object).length * owners.length);
    if (owners.includes(host)) return fault('it owns the key');
    const verdicts = owners.map((owner) => this.has(owner, key, object));
    const lacking = owners.find((_, index) => verdicts[index] === 'too few');
    if (lacking !== undefined) fault(`${lacking} holds ${this.#describeHeld(lacking, key)}`);
    else if (verdicts.includes('unknown')) this.#skippedCopies += 1;
  }

  #hinted(host: string, path: string, record: LogRecord): void {
    const { key, seq, value } = record;
    const hints = this.#hints.get(host) ?? new Map<string, HeldHint>();
    this.#hints.set(host, hints);
    const held = hints.get(key);
    // Of two flushes in flight the later one may reach the disk first. A start copies what it has found.
    const writes = this.#hintWrites.get(host);
    if (writes !== undefined && value !== 'damaged' && seq > writes.foundSeq)
      (value === undefined ? writes.erased : writes.written).add(seq);
    if (value === 'damaged' || (held !== undefined && seq <= held.seq)) return;
    hints.set(key, hintAt(path, record, value));
    if (held?.hint !== undefined) {
      if (value === undefined) this.#lose(host, key, held, 'removed');
      else if (!held.unreadable) this.#overwritten(host, key, held.hint, new Uint8Array(value));
    }
    const followed = this.#dates !== undefined || this.#spread !== undefined;
    const hint = value === undefined || !followed ? undefined : readHint(new Uint8Array(value));
    const name = unpackKey(key);
    if (hint === undefined || name === undefined) return;
    const hinted = name.key as string as PackedKey;
    this.#dates?.stored(hinted, hint.object);
    this.#spread?.hinted(textOf(name.bucket), hinted, (dot) => covers(hint.object.context, dot));
  }

  /** All writes of a key that a replica missed share one hint: a later one carries what the one before it carried. */
  #overwritten(host: string, key: string, before: Uint8Array, bytes: Uint8Array): void {
    const [old, now] = [readHint(before), readHint(bytes)];
    if (old === undefined || now === undefined || this.#exceptions.hintAges.isTooOld(host, old.writtenMs))
      return;
    this.#overwrites += 1;
    if (isCovered(old.object, now.object.context)) return;
    const name = unpackKey(key as PackedKey);
    const what = `the hint of ${nameOf(name?.key as string as PackedKey)} for ${name === undefined ? '' : textOf(name.bucket)}`;
    const text = `${host} replaces ${what}: ${describeObject(now.object)} lacks some of ${describeObject(old.object)}`;
    this.#forgotten.push({ atUs: this.#nowUs(), text });
  }

  /** The node's disk holds the version, or something that replaced it, as far as contexts that were pruned can tell. */
  #holds(node: string, key: PackedKey, dot: Dot): boolean {
    const place = `${node} ${key}`;
    const known = [this.#held.get(place)?.object?.context, this.#reaped.get(place)];
    if (known.some((context) => context !== undefined && covers(context, dot))) return true;
    return known[0] !== undefined && this.#exceptions.pruned?.covers(key, dot) === true;
  }

  /** Some disk holds a hint of the version for the peer. */
  #isHinted(peer: string, key: PackedKey, dot: Dot): boolean {
    const hintKey = hintKeyOf(peer as NodeId, key);
    return [...this.#hints.values()].some((hints) => {
      const bytes = hints.get(hintKey)?.hint;
      const hint = bytes === undefined ? undefined : readHint(bytes);
      return hint !== undefined && covers(hint.object.context, dot);
    });
  }

  /** From now on the host does not hold the hint: another node must hold its versions, unless they were flushed. */
  #lose(host: string, key: string, { hint: bytes, unreadable }: HeldHint, how: string): void {
    if (bytes === undefined) return;
    this.#removed += 1;
    const name = unpackKey(key as PackedKey);
    if (name !== undefined && this.flushes.isFlushed(name.key as string as PackedKey)) return;
    const hint = unreadable ? undefined : readHint(bytes);
    if (name === undefined || hint === undefined || this.#exceptions.hintAges.isTooOld(host, hint.writtenMs))
      this.#skippedHints += 1;
    else if (!this.#isKeptElsewhere(host, key, hint.object))
      this.#gaveUp(host, how, textOf(name.bucket), name.key as string as PackedKey, hint);
  }

  /** Another node holds a hint for the same replica that carries at least these versions. */
  #isKeptElsewhere(host: string, key: string, object: StoredObject): boolean {
    return [...this.#hints].some(([other, hints]) => {
      const bytes = other === host ? undefined : hints.get(key)?.hint;
      return bytes !== undefined && isCovered(object, readHint(bytes)?.object.context);
    });
  }

  /**
   * The replica's disk holds all versions of the hint. If the replica is gone for good without them, all owners must.
   * Replicas remove a tombstone that all members have held for longer than the grace; a coordinator that has crashed may
   * still send it once more.
   */
  #gaveUp(host: string, how: string, peer: string, key: PackedKey, { token, object }: ReadHint): void {
    if (isCovered(object, this.#held.get(`${peer} ${key}`)?.object?.context)) return;
    for (const owner of this.#owners.replacing(peer, token) ?? [peer]) {
      const verdict = this.has(owner, key, object);
      if (verdict === 'all') continue;
      if (verdict === 'unknown') this.#skippedHints += 1;
      else {
        const text = `${host} ${how} its hint of ${nameOf(key)} for ${peer}; ${owner} holds ${this.#describeHeld(owner, key)}, not ${describeObject(object)}`;
        this.#forgotten.push({ atUs: this.#nowUs(), text });
      }
      return;
    }
  }

  /**
   * Whether the owner holds all versions that another node gives up. `unknown`: its disk may have forgotten them (unless
   * `forgets` is false), or a coordinator has pruned the entries that covered them.
   */
  has(owner: string, key: PackedKey, given: StoredObject, forgets = true): 'all' | 'unknown' | 'too few' {
    const place = `${owner} ${key}`;
    const held = this.#held.get(place)?.object;
    if (held === undefined && isCovered(given, this.#reaped.get(place))) return 'all';
    const missing = given.siblings.filter(({ dot }) => held === undefined || !covers(held.context, dot));
    if (missing.length === 0) return 'all';
    // The exception of `hint-delivery` and of `transfer-soundness` in the contract of faults.
    if (forgets && this.#exceptions.forgetful.has(owner)) return 'unknown';
    const isPruned = missing.every(({ dot }) => this.#exceptions.pruned?.covers(key, dot));
    return held !== undefined && isPruned ? 'unknown' : 'too few';
  }

  #heldAt(
    path: string,
    { seq, token, at, bytes }: Pick<LogRecord, 'seq' | 'token' | 'at' | 'bytes'>,
    object: StoredObject | undefined,
  ): Held {
    const places = [{ path, from: at, to: at + bytes }];
    return { seq, object, token, atUs: this.#nowUs(), places, unreadable: false };
  }

  #describeHeld(owner: string, key: PackedKey): string {
    const held = this.#held.get(`${owner} ${key}`)?.object;
    return held === undefined ? 'nothing' : describeObject(held);
  }
}

function describeWrite({ key, content }: NamedWrite): string {
  return `${nameOf(key)} ${hash('sha256', content).slice(0, 16)}`;
}
