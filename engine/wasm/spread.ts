/**
 * Spreads registered modules to every node. A change goes to all peers at once. In addition, gossip carries the digest
 * of a node's knowledge. A node that receives another digest compares itself with that peer, which brings what a
 * partition, a crash or a late start has kept back:
 *
 *     A -> B  compare: the digest of A's knowledge
 *     B -> A  same; or the stamps of all of B's entries
 *     A -> B  entries that B lacks, and the ids of those that A lacks
 *     B -> A  taken, and the entries that A asked for
 *
 * Messages hold as many entries as fit; the next digest brings the rest.
 */
import { tryDecode } from '../base/decoding.ts';
import type { SendOutcome } from '../base/channel.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { Io } from '../io/io.ts';
import type { EntryStamp, ModuleEntry } from './entry.ts';
import { sameStamp, stampOf } from './entry.ts';
import type { WasmMetrics } from './metrics.ts';
import type { Registry } from './registry.ts';
import type { SpreadAnswer, SpreadMessage } from './spread-messages.ts';
import { decodeAnswer, decodeSpreadMessage, encodeAnswer, encodeSpreadMessage } from './spread-messages.ts';

/** What spreading needs of the peer links. */
export interface SpreadLinks {
  /** Reachable peers, sorted by name. */
  peers(): readonly NodeId[];
  /**
   * Sends a request. If this returns `ok`, `onAnswer` is called exactly once, with the answer's bytes, or undefined
   * without one.
   */
  ask(
    peer: NodeId,
    payload: Uint8Array,
    timeoutUs: number,
    onAnswer: (payload: Uint8Array | undefined) => void,
  ): SendOutcome;
}

/** Limits of an exchange. */
export interface SpreadOptions {
  /** Microseconds that a peer may take to answer. */
  readonly timeoutUs: number;
  /** Approximate bytes of modules in one message; at least one entry is sent. */
  readonly messageBytesMax: number;
}

/** Which members hold a change. */
export interface SpreadReport {
  readonly held: readonly NodeId[];
  /** Members that were unreachable or did not answer in time; they get the change when they are back. */
  readonly pending: readonly NodeId[];
}

/** The exchange of one node. */
export class Spread {
  readonly #io: Io;
  readonly #registry: Registry;
  readonly #links: SpreadLinks;
  readonly #options: SpreadOptions;
  readonly #metrics: WasmMetrics;
  /** Peers with a comparison under way. */
  readonly #comparing = new Set<NodeId>();
  #stopped = false;

  constructor(io: Io, registry: Registry, links: SpreadLinks, options: SpreadOptions, metrics: WasmMetrics) {
    this.#io = io;
    this.#registry = registry;
    this.#links = links;
    this.#options = options;
    this.#metrics = metrics;
  }

  /** Begins no further comparison. */
  stop(): void {
    this.#stopped = true;
  }

  /** Sends a change to all members. Resolves when each has made it durable or has failed to say so. */
  async push(entry: ModuleEntry, members: readonly NodeId[]): Promise<SpreadReport> {
    const reachable = this.#links.peers();
    const message: SpreadMessage = { kind: 'give', entries: [entry], wanted: [] };
    const asked = members.map(async (node) => {
      if (!reachable.includes(node)) return { node, held: false };
      this.#metrics.sent += 1;
      const answer = await this.#ask(node, message);
      return { node, held: answer?.kind === 'given' };
    });
    const told = await Promise.all(asked);
    const named = (held: boolean): readonly NodeId[] =>
      told.filter((one) => one.held === held).map(({ node }) => node);
    return { held: named(true), pending: named(false) };
  }

  /** Called with the digest in a peer's gossip; starts a comparison if it differs. */
  heard(peer: NodeId, digest: string): void {
    if (this.#stopped || digest === '' || this.#comparing.has(peer) || digest === this.#registry.digest)
      return;
    this.#comparing.add(peer);
    this.#io.log.event('debug', 'wasm.compare.began', { peer });
    this.#io.spawn('wasm.spread', async () => {
      try {
        await this.#compare(peer);
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
        // The store takes no modules now; the next digest compares again.
        this.#io.log.event('warn', 'wasm.spread.failed', { peer, code: error.code, detail: error.message });
      } finally {
        this.#comparing.delete(peer);
      }
    });
  }

  /** Answers a peer's request. Rejects with `BadRequest` if it does not decode. */
  async answer(bytes: Uint8Array): Promise<Uint8Array> {
    const message = tryDecode(() => decodeSpreadMessage(bytes));
    if (message === undefined)
      throw new LockstepError('BadRequest', 'a message about modules that does not decode');
    if (message.kind === 'compare') {
      const same = message.digest === this.#registry.digest;
      return encodeAnswer(same ? { kind: 'same' } : { kind: 'stamps', stamps: this.#stamps() });
    }
    for (const entry of message.entries) await this.#registry.take(entry);
    const wanted = message.wanted.map((id) => this.#registry.get(id)).filter((entry) => entry !== undefined);
    return encodeAnswer({ kind: 'given', entries: this.#fitting(wanted) });
  }

  async #compare(peer: NodeId): Promise<void> {
    const answer = await this.#ask(peer, { kind: 'compare', digest: this.#registry.digest });
    if (answer?.kind !== 'stamps') return;
    const theirs = new Map(answer.stamps.map((stamp) => [stamp.id, stamp]));
    const lacking = this.#registry.entries().filter((entry) => isNews(entry, theirs.get(entry.id)));
    const wanted = answer.stamps.filter((stamp) => this.#lacks(stamp)).map(({ id }) => id);
    const given = await this.#ask(peer, { kind: 'give', entries: this.#fitting(lacking), wanted });
    if (given?.kind !== 'given') return;
    for (const entry of given.entries) await this.#registry.take(entry);
  }

  /** Whether a peer's stamp states something that this node does not know. */
  #lacks(stamp: EntryStamp): boolean {
    const own = this.#registry.get(stamp.id);
    if (own === undefined || own.version < stamp.version) return true;
    return own.version === stamp.version && !sameStamp(stampOf(own), stamp);
  }

  #stamps(): readonly EntryStamp[] {
    return this.#registry.entries().map(stampOf);
  }

  #fitting(entries: readonly ModuleEntry[]): readonly ModuleEntry[] {
    let bytes = 0;
    const fitting = entries.filter(({ content }, index) => {
      bytes += content?.bytes.length ?? 0;
      return index === 0 || bytes <= this.#options.messageBytesMax;
    });
    this.#metrics.sent += fitting.length;
    return fitting;
  }

  /** The answer; undefined if there was none or it does not decode. */
  #ask(peer: NodeId, message: SpreadMessage): Promise<SpreadAnswer | undefined> {
    const done = new Deferred<SpreadAnswer | undefined>();
    const outcome = this.#links.ask(peer, encodeSpreadMessage(message), this.#options.timeoutUs, (bytes) => {
      done.resolve(bytes === undefined ? undefined : tryDecode(() => decodeAnswer(bytes)));
    });
    if (outcome !== 'ok') done.resolve(undefined);
    return done.promise;
  }
}

/** Whether the entry adds something to the knowledge with this stamp. */
function isNews(entry: ModuleEntry, stamp: EntryStamp | undefined): boolean {
  if (stamp === undefined || entry.version > stamp.version) return true;
  return entry.version === stamp.version && !sameStamp(stampOf(entry), stamp);
}
