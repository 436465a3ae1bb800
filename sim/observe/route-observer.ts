/**
 * Records from the wire of the peer plane which node answered which: the replicas' answers to reads
 * (`quorum-intersection`; for large objects, `resource-bounds`), the incarnation that sent each answer
 * (`node-identity`), the hints that were sent (`hint-delivery`, see `hint-sends.ts`), and the claims of idempotency keys
 * (`exactly-once`, see `claim-observer.ts`).
 */
import type { Frame } from '../../engine/peer/wire/frames.ts';
import { FrameDecoder, FrameError } from '../../engine/peer/wire/frames.ts';
import { decodeGreeting } from '../../engine/peer/wire/greetings.ts';
import { greetingKinds, isReplyKind, replyKinds, requestKinds } from '../../engine/peer/wire/kinds.ts';
import { decodeKeyed, decodeObjectReply } from '../../engine/peer/wire/object-bodies.ts';
import type { AnswerRecord } from '../check/cluster/identity.ts';
import type { ReadAnswer } from '../evidence/read-answers.ts';
import type { LargeAnswer } from '../check/bounds/read-memory.ts';
import type { ClaimObserver } from './claim-observer.ts';
import type { GreetingObserver } from './greeting-observer.ts';
import type { HintSends, SentHint } from './hint-sends.ts';
import { clusterPorts } from '../world/cluster/node-config.ts';
import type { ConnectionEnd, ConnectionWatcher } from '../world/core/watchers.ts';
import { nameOf } from './store-dump.ts';

const nothing = Buffer.alloc(0);
const limits = { frameBytesMax: 64 * 1024 * 1024 };

interface Read {
  readonly key: string;
  readonly askedUs: number;
  /** Replicas describe objects longer than this instead of sending them. */
  readonly bytesMax: number | undefined;
}

/** One side of a connection of the plane. */
class Side {
  readonly heard = new FrameDecoder(limits);
  readonly wrote = new FrameDecoder(limits);
  /** Unanswered reads, by request number. */
  readonly reads = new Map<number, Read>();
  /** Unanswered messages that carry a hint, by request number. */
  readonly hints = new Map<number, { readonly hint: SentHint; readonly sentUs: number }>();
  /** Transactions of unanswered claims, by request number. */
  readonly claims = new Map<number, string>();
  /** The name and incarnation id that the other side's greeting claimed. */
  claim: { readonly name: string; readonly epoch: string } | undefined;
  /** Malformed bytes arrived: the rest of the stream is ignored. */
  cut = false;
}

/** Who else receives what goes over the wire. */
export interface RouteListeners {
  /** Receives every greeting that a node sends. */
  readonly greetings: Pick<GreetingObserver, 'greeted'>;
  /** Receives every object that a node sends to another one. */
  readonly sends?: HintSends | undefined;
  /** Receives requests about transactions, and the answers to claims. */
  readonly claims?: Pick<ClaimObserver, 'heard' | 'claimIn' | 'answered'> | undefined;
}

/** Collects the evidence of answers between nodes for four checks. */
export class RouteObserver {
  readonly answers: ReadAnswer[] = [];
  readonly largeAnswers: LargeAnswer[] = [];
  readonly identities: AnswerRecord[] = [];
  readonly #nowUs: () => number;
  readonly #isNode: (host: string) => boolean;
  readonly #listeners: RouteListeners;
  readonly #sides = new Map<number, Side>();
  /** Per incarnation of a node and name of a peer: the peer's incarnation that greeted last. */
  readonly #newest = new Map<string, string>();

  constructor(nowUs: () => number, isNode: (host: string) => boolean, listeners: RouteListeners) {
    this.#nowUs = nowUs;
    this.#isNode = isNode;
    this.#listeners = listeners;
  }

  get watcher(): ConnectionWatcher {
    return {
      opened: (end) => {
        if (end.port === clusterPorts.peer && this.#isNode(end.host))
          this.#sides.set(numberOf(end), new Side());
      },
      wrote: (end, bytes) => this.#read(end, 'wrote', bytes),
      heard: (end, bytes) => this.#read(end, 'heard', bytes),
      toldEnd: () => undefined,
      left: () => undefined,
      closed: (end) => void this.#sides.delete(numberOf(end)),
      connectFailed: () => undefined,
    };
  }

  #read(end: ConnectionEnd, way: 'wrote' | 'heard', bytes: Uint8Array): void {
    const side = this.#sides.get(numberOf(end));
    if (side === undefined || side.cut) return;
    const decoder = side[way];
    try {
      decoder.push(bytes);
      for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
        if (way === 'wrote' && frame.kind === greetingKinds.hello) this.#greets(end, frame);
        if (end.side === 'server') this.#serves(end, side, way, frame);
        else this.#asks(end, side, way, frame);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      side.cut = true;
    }
  }

  #greets({ host, life }: ConnectionEnd, frame: Frame): void {
    const greeting = decodeGreeting(frame);
    if (greeting.kind === 'hello') this.#listeners.greetings.greeted(host, life, greeting.hello.generation);
  }

  #asks(end: ConnectionEnd, side: Side, way: 'wrote' | 'heard', frame: Frame): void {
    const { kind, id, body } = frame;
    const { sends, claims } = this.#listeners;
    if (way === 'wrote') {
      const claimed = kind === requestKinds.transact ? claims?.claimIn(frame) : undefined;
      if (claimed !== undefined) side.claims.set(id, claimed);
      if (kind === requestKinds.mergeObject && sends !== undefined) {
        const { key, object = nothing } = decodeKeyed(body);
        const hint = sends.sent(end.host, end.life, end.peer, key, object);
        if (hint !== undefined) side.hints.set(id, { hint, sentUs: this.#nowUs() });
      }
      if (kind !== requestKinds.readObject) return;
      const { key, bytesMax } = decodeKeyed(body);
      side.reads.set(id, { key: nameOf(key), askedUs: this.#nowUs(), bytesMax });
      return;
    }
    const sent = side.hints.get(id);
    if (sent !== undefined && isReplyKind(kind)) {
      side.hints.delete(id);
      if (kind === replyKinds.written) sends?.taken(sent.hint, sent.sentUs);
    }
    const claimed = side.claims.get(id);
    if (claimed !== undefined && isReplyKind(kind)) {
      side.claims.delete(id);
      claims?.answered(end.host, end.peer, claimed, frame);
    }
    const read = side.reads.get(id);
    if (read === undefined || !isReplyKind(kind)) return;
    side.reads.delete(id);
    if (kind !== replyKinds.object) return;
    const { key, askedUs, bytesMax } = read;
    const [node, peer, heardUs] = [end.host, end.peer, this.#nowUs()];
    this.answers.push({ key, askedUs, node, peer, heardUs });
    if (bytesMax === undefined) return;
    const { object, described } = decodeObjectReply(body);
    const objectBytes = object?.length ?? 0;
    if (described !== undefined || objectBytes > bytesMax)
      this.largeAnswers.push({ node, peer, atUs: heardUs, objectBytes, bytesMax });
  }

  #serves(end: ConnectionEnd, side: Side, way: 'wrote' | 'heard', frame: Frame): void {
    const { kind } = frame;
    if (way === 'heard') {
      if (kind === greetingKinds.hello) side.claim = claimOf(frame);
      if (kind === requestKinds.transact) this.#listeners.claims?.heard(end.host, frame);
      return;
    }
    if (side.claim === undefined) return;
    const { name, epoch } = side.claim;
    const place = `${end.host}/${end.life} ${name}`;
    if (kind === greetingKinds.hello) this.#newest.set(place, epoch);
    if (!isReplyKind(kind) || kind === replyKinds.pong) return;
    const newest = this.#newest.get(place) ?? epoch;
    this.identities.push({ node: end.host, peer: name, atUs: this.#nowUs(), life: epoch, newest });
  }
}

function claimOf(frame: Frame): Side['claim'] {
  const greeting = decodeGreeting(frame);
  return greeting.kind === 'hello' ? { name: greeting.hello.node, epoch: greeting.hello.epoch } : undefined;
}

/** A number for one side of a connection. */
function numberOf({ id, side }: ConnectionEnd): number {
  return side === 'client' ? id * 2 : id * 2 + 1;
}
